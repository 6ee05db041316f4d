#include "analysis/symbols/rust_v0.h"

#include <fmt/format.h>

#include "analysis/symbols/punycode.h"

namespace heaptap::symbols {
namespace {

constexpr uint32_t kNestingLimit = 128;
constexpr uint32_t kStepLimit = 100000;  // back references can unfold exponentially
constexpr size_t kOutputLimit = 32 * 1024;
constexpr uint64_t kLifetimeLimit = 1024;

std::string_view basic_type(char tag) {
  switch (tag) {
    case 'a':
      return "i8";
    case 'b':
      return "bool";
    case 'c':
      return "char";
    case 'd':
      return "f64";
    case 'e':
      return "str";
    case 'f':
      return "f32";
    case 'h':
      return "u8";
    case 'i':
      return "isize";
    case 'j':
      return "usize";
    case 'l':
      return "i32";
    case 'm':
      return "u32";
    case 'n':
      return "i128";
    case 'o':
      return "u128";
    case 'p':
      return "_";
    case 's':
      return "i16";
    case 't':
      return "u16";
    case 'u':
      return "()";
    case 'v':
      return "...";
    case 'x':
      return "i64";
    case 'y':
      return "u64";
    case 'z':
      return "!";
    default:
      return {};
  }
}

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

}  // namespace

// Counter of one recursion level and one step; makes the reader give up at a limit.
class RustV0::Nested {
 public:
  explicit Nested(RustV0& reader) : reader_(reader) {
    if (++reader_.depth_ > kNestingLimit || ++reader_.steps_ > kStepLimit) reader_.give_up();
  }
  ~Nested() { --reader_.depth_; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  RustV0& reader_;
};

std::optional<std::string> RustV0::demangle() {
  while (is_digit(peek())) ++position_;  // version of the encoding
  path(true);
  if (!failed_ && is_upper(peek())) {  // the crate that instantiated it: not shown
    silent_ = true;
    path(false);
  }
  if (failed_ || position_ != text_.size() || out_.empty()) return std::nullopt;
  return std::move(out_);
}

void RustV0::path(bool is_value) {
  const Nested nested(*this);
  if (failed_) return;
  switch (take_any()) {
    case 'C':
      return print(identifier());
    case 'M':
      impl_path();
      print("<");
      type();
      return print(">");
    case 'X':
      impl_path();
      [[fallthrough]];
    case 'Y':
      print("<");
      type();
      print(" as ");
      path(false);
      return print(">");
    case 'N':
      return nested_path(is_value);
    case 'I':
      path(is_value);
      return generic_arguments(is_value);
    case 'B':
      return back_reference([this, is_value] { path(is_value); });
    default:
      return give_up();
  }
}

void RustV0::nested_path(bool is_value) {
  const char space = take_any();
  if (!is_upper(space) && !is_lower(space)) return give_up();
  path(is_value);
  const Identifier name = identifier();
  if (is_lower(space)) {
    if (name.name.empty()) return;
    print("::");
    return print(name);
  }
  print(space == 'C' ? "::{closure" : space == 'S' ? "::{shim" : fmt::format("::{{{}", space));
  if (!name.name.empty()) {
    print(":");
    print(name);
  }
  print(fmt::format("#{}}}", name.disambiguator));
}

void RustV0::impl_path() {
  const bool was_silent = silent_;
  silent_ = true;
  optional_base62('s');
  path(false);
  silent_ = was_silent;
}

void RustV0::generic_arguments(bool is_value) {
  print(is_value ? "::<" : "<");
  for (bool first = true; !failed_ && !take('E'); first = false) {
    if (!first) print(", ");
    generic_argument();
  }
  print(">");
}

void RustV0::generic_argument() {
  if (take('L')) return lifetime(base62());
  if (take('K')) return constant();
  type();
}

void RustV0::type() {
  const Nested nested(*this);
  if (failed_) return;
  const char tag = peek();
  if (const std::string_view basic = basic_type(tag); !basic.empty()) {
    ++position_;
    return print(basic);
  }
  if (tag == 'B') {
    ++position_;
    return back_reference([this] { type(); });
  }
  if (std::string_view("ASTRQPOFD").find(tag) == std::string_view::npos) return path(false);
  ++position_;
  compound_type(tag);
}

void RustV0::compound_type(char tag) {
  switch (tag) {
    case 'A':
      print("[");
      type();
      print("; ");
      constant();
      return print("]");
    case 'S':
      print("[");
      type();
      return print("]");
    case 'T':
      return tuple();
    case 'R':
    case 'Q':
      print("&");
      if (take('L')) {
        if (const uint64_t index = base62(); index != 0) {
          lifetime(index);
          print(" ");
        }
      }
      if (tag == 'Q') print("mut ");
      return type();
    case 'P':
      print("*const ");
      return type();
    case 'O':
      print("*mut ");
      return type();
    case 'F':
      return function_signature();
    default:
      return dyn_bounds();
  }
}

void RustV0::tuple() {
  print("(");
  size_t count = 0;
  for (; !failed_ && !take('E'); ++count) {
    if (count != 0) print(", ");
    type();
  }
  print(count == 1 ? ",)" : ")");
}

void RustV0::function_signature() {
  const uint64_t bound = binder();
  if (take('U')) print("unsafe ");
  if (take('K')) {
    print("extern \"");
    if (take('C')) {
      print("C");
    } else {
      std::string abi(plain_identifier().name);
      for (char& c : abi) c = c == '_' ? '-' : c;
      print(abi);
    }
    print("\" ");
  }
  print("fn(");
  for (bool first = true; !failed_ && !take('E'); first = false) {
    if (!first) print(", ");
    type();
  }
  print(")");
  if (!take('u')) {
    print(" -> ");
    type();
  }
  bound_lifetimes_ -= bound;
}

void RustV0::dyn_bounds() {
  print("dyn ");
  const uint64_t bound = binder();
  for (bool first = true; !failed_ && !take('E'); first = false) {
    if (!first) print(" + ");
    dyn_trait();
  }
  bound_lifetimes_ -= bound;
  if (!take('L')) return give_up();
  if (const uint64_t index = base62(); index != 0) {
    print(" + ");
    lifetime(index);
  }
}

void RustV0::dyn_trait() {
  bool open = open_path_with_generics();
  while (!failed_ && take('p')) {
    print(open ? ", " : "<");
    open = true;
    print(plain_identifier());
    print(" = ");
    type();
  }
  if (open) print(">");
}

// A path whose "<…" of generic arguments is not closed yet: true if there is one.
bool RustV0::open_path_with_generics() {
  const Nested nested(*this);
  bool open = false;
  if (failed_) return open;
  if (take('B')) {
    back_reference([this, &open] { open = open_path_with_generics(); });
  } else if (take('I')) {
    path(false);
    print("<");
    open = true;
    for (bool first = true; !failed_ && !take('E'); first = false) {
      if (!first) print(", ");
      generic_argument();
    }
  } else {
    path(false);
  }
  return open;
}

void RustV0::constant() {
  const Nested nested(*this);
  if (failed_) return;
  const char tag = take_any();
  switch (tag) {
    case 'p':
      return print("_");
    case 'B':
      return back_reference([this] { constant(); });
    case 'h':
    case 't':
    case 'm':
    case 'y':
    case 'o':
    case 'j':
      return constant_number(false);
    case 'a':
    case 's':
    case 'l':
    case 'x':
    case 'n':
    case 'i':
      return constant_number(true);
    case 'b': {
      const std::string_view digits = hex_digits();
      return digits == "0" ? print("false") : digits == "1" ? print("true") : give_up();
    }
    case 'c':
      return constant_character();
    default:
      return give_up();
  }
}

void RustV0::constant_number(bool is_signed) {
  if (take('n')) {
    if (!is_signed) return give_up();
    print("-");
  }
  const std::string_view digits = hex_digits();
  if (digits.size() > 16) {
    print("0x");
    return print(digits);
  }
  uint64_t value = 0;
  for (char c : digits) value = value << 4 | static_cast<uint64_t>(is_digit(c) ? c - '0' : c - 'a' + 10);
  print(fmt::format("{}", value));
}

void RustV0::constant_character() {
  const std::string_view digits = hex_digits();
  if (failed_ || digits.size() > 6) return give_up();
  uint32_t point = 0;
  for (char c : digits) point = point << 4 | static_cast<uint32_t>(is_digit(c) ? c - '0' : c - 'a' + 10);
  if (point >= 0x20 && point < 0x7f && point != '\'' && point != '\\') {
    return print(fmt::format("'{}'", static_cast<char>(point)));
  }
  print(fmt::format("'\\u{{{:x}}}'", point));
}

void RustV0::lifetime(uint64_t index) {
  if (index == 0) return print("'_");
  if (index > bound_lifetimes_) return give_up();
  const uint64_t number = bound_lifetimes_ - index;
  print(number < 26 ? fmt::format("'{}", static_cast<char>('a' + number)) : fmt::format("'_{}", number));
}

// for<'a, 'b>: the number of lifetimes that are bound from here on.
uint64_t RustV0::binder() {
  const uint64_t count = optional_base62('G');
  if (count == 0) return 0;
  if (count > kLifetimeLimit) {
    give_up();
    return 0;
  }
  print("for<");
  for (uint64_t i = 0; i < count; ++i) {
    if (i != 0) print(", ");
    ++bound_lifetimes_;
    lifetime(1);
  }
  print("> ");
  return count;
}

template <typename Read>
void RustV0::back_reference(Read read) {
  const size_t start = position_ - 1;
  const uint64_t target = base62();
  if (failed_ || target >= start) return give_up();
  if (silent_) return;
  const size_t after = position_;
  position_ = static_cast<size_t>(target);
  read();
  position_ = after;
}

bool RustV0::take(char expected) {
  if (peek() != expected) return false;
  ++position_;
  return true;
}

char RustV0::take_any() {
  if (position_ >= text_.size()) {
    give_up();
    return '\0';
  }
  return text_[position_++];
}

uint64_t RustV0::base62() {
  if (take('_')) return 0;
  uint64_t value = 0;
  while (!failed_ && !take('_')) {
    const char c = take_any();
    uint64_t digit = 0;
    if (is_digit(c))
      digit = static_cast<uint64_t>(c - '0');
    else if (is_lower(c))
      digit = static_cast<uint64_t>(c - 'a') + 10;
    else if (is_upper(c))
      digit = static_cast<uint64_t>(c - 'A') + 36;
    else
      give_up();
    if (__builtin_mul_overflow(value, 62, &value) || __builtin_add_overflow(value, digit, &value)) give_up();
  }
  return value + 1;
}

uint64_t RustV0::optional_base62(char tag) { return take(tag) ? base62() + 1 : 0; }

uint64_t RustV0::decimal() {
  if (!is_digit(peek())) {
    give_up();
    return 0;
  }
  if (take('0')) return 0;
  uint64_t value = 0;
  while (is_digit(peek()) && value < text_.size()) value = value * 10 + static_cast<uint64_t>(take_any() - '0');
  return value;
}

std::string_view RustV0::hex_digits() {
  const size_t start = position_;
  while (is_digit(peek()) || (peek() >= 'a' && peek() <= 'f')) ++position_;
  const std::string_view digits = text_.substr(start, position_ - start);
  if (digits.empty() || !take('_')) give_up();
  return digits;
}

RustV0::Identifier RustV0::identifier() {
  const uint64_t disambiguator = optional_base62('s');
  Identifier result = plain_identifier();
  result.disambiguator = disambiguator;
  return result;
}

RustV0::Identifier RustV0::plain_identifier() {
  Identifier result;
  result.punycode = take('u');
  const uint64_t length = decimal();
  take('_');
  if (failed_ || length > text_.size() - position_) {
    give_up();
    return {};
  }
  result.name = text_.substr(position_, static_cast<size_t>(length));
  position_ += static_cast<size_t>(length);
  return result;
}

void RustV0::print(const Identifier& identifier) {
  if (!identifier.punycode) return print(identifier.name);
  const auto decoded = decode_punycode(identifier.name);
  if (!decoded) return give_up();
  print(*decoded);
}

void RustV0::print(std::string_view text) {
  if (failed_ || silent_) return;
  if (out_.size() + text.size() > kOutputLimit) return give_up();
  out_ += text;
}

}  // namespace heaptap::symbols
