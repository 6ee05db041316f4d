#include "base/pattern.h"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace heaptap::base {
namespace {

using Bytes = Pattern::Bytes;
using Instruction = Pattern::Instruction;
using Operation = Pattern::Operation;
using Program = Pattern::Program;

constexpr int kMaxDepth = 50;
constexpr uint32_t kMaxRepetitions = 255;
constexpr size_t kByteCount = 256;

bool is_ascii(unsigned char byte) { return byte < 0x80; }
bool is_digit(unsigned char byte) { return byte >= '0' && byte <= '9'; }
bool is_upper(unsigned char byte) { return byte >= 'A' && byte <= 'Z'; }
bool is_lower(unsigned char byte) { return byte >= 'a' && byte <= 'z'; }
bool is_letter(unsigned char byte) { return is_upper(byte) || is_lower(byte); }
bool is_alphanumeric(unsigned char byte) { return is_letter(byte) || is_digit(byte); }
bool is_word(unsigned char byte) { return is_alphanumeric(byte) || byte == '_'; }
bool is_space(unsigned char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }
bool is_blank(unsigned char byte) { return byte == ' ' || byte == '\t'; }
bool is_control(unsigned char byte) { return byte < ' ' || byte == 0x7f; }
bool is_graphic(unsigned char byte) { return byte > ' ' && byte < 0x7f; }
bool is_printable(unsigned char byte) { return byte >= ' ' && byte < 0x7f; }
bool is_punctuation(unsigned char byte) { return is_graphic(byte) && !is_alphanumeric(byte); }
bool is_hex(unsigned char byte) {
  return is_digit(byte) || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
}

using Predicate = bool (*)(unsigned char);
constexpr std::array<std::pair<std::string_view, Predicate>, 12> kClasses{{{"alpha", is_letter},
                                                                           {"digit", is_digit},
                                                                           {"alnum", is_alphanumeric},
                                                                           {"upper", is_upper},
                                                                           {"lower", is_lower},
                                                                           {"space", is_space},
                                                                           {"blank", is_blank},
                                                                           {"punct", is_punctuation},
                                                                           {"cntrl", is_control},
                                                                           {"graph", is_graphic},
                                                                           {"print", is_printable},
                                                                           {"xdigit", is_hex}}};

Bytes set_of(Predicate predicate) {
  Bytes set;
  for (size_t byte = 0; byte < kByteCount; ++byte) set[byte] = predicate(static_cast<unsigned char>(byte));
  return set;
}

// \d and its kin.
std::optional<Bytes> class_of_escape(char letter) {
  switch (letter) {
    case 'd':
      return set_of(is_digit);
    case 'D':
      return ~set_of(is_digit);
    case 'w':
      return set_of(is_word);
    case 'W':
      return ~set_of(is_word);
    case 's':
      return set_of(is_space);
    case 'S':
      return ~set_of(is_space);
    default:
      return std::nullopt;
  }
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Program> parse() {
    auto program = alternatives(0);
    if (!program) return program;
    if (at_ < text_.size()) return fail("a ) has no (");
    program->push_back({Operation::kMatch});
    return program;
  }

  std::vector<Bytes> take_sets() { return std::move(sets_); }

 private:
  [[nodiscard]] bool has(char wanted) const { return at_ < text_.size() && text_[at_] == wanted; }
  bool take(char wanted) {
    if (!has(wanted)) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view wanted) {
    if (!text_.substr(at_).starts_with(wanted)) return false;
    at_ += wanted.size();
    return true;
  }

  static Result<Program> checked(Program program) {
    if (program.size() > Pattern::kMaxInstructions) return fail("its repetitions make it too large");
    return program;
  }

  static int32_t distance(size_t size) { return static_cast<int32_t>(size); }

  //   split ─▸ one, jump ┐
  //     └────▸ other ────┴▸
  Result<Program> alternatives(int depth) {
    if (depth > kMaxDepth) return fail("its ( ) are nested too deep");
    auto made = sequence(depth);
    while (made && take('|')) {
      auto other = sequence(depth);
      if (!other) return other;
      Program both{{Operation::kSplit, 1, distance(made->size() + 2)}};
      both.insert(both.end(), made->begin(), made->end());
      both.push_back({Operation::kJump, distance(other->size() + 1)});
      both.insert(both.end(), other->begin(), other->end());
      made = checked(std::move(both));
    }
    return made;
  }

  Result<Program> sequence(int depth) {
    Program made;
    while (at_ < text_.size() && !has('|') && !has(')')) {
      auto part = repeated(depth);
      if (!part) return part;
      made.insert(made.end(), part->begin(), part->end());
      if (made.size() > Pattern::kMaxInstructions) break;
    }
    return checked(std::move(made));
  }

  struct Times {
    uint32_t least = 1;
    std::optional<uint32_t> most = 1;  // none: any number
  };

  Result<Program> repeated(int depth) {
    auto part = atom(depth);
    if (!part) return part;
    Times times;
    if (take('*')) {
      times = {0, std::nullopt};
    } else if (take('+')) {
      times = {1, std::nullopt};
    } else if (take('?')) {
      times = {0, 1};
    } else if (take('{')) {
      const auto given = times_given();
      if (!given) return std::unexpected(given.error());
      times = *given;
    } else {
      return part;
    }
    (void)take('?');
    if (has('*') || has('+') || has('?') || has('{')) return fail("two repetitions stand behind each other");
    return repeat(*part, times);
  }

  // Behind the {.
  Result<Times> times_given() {
    const auto wrong = [] { return fail("{{ }} holds no number of repetitions up to {}", kMaxRepetitions); };
    Times times;
    if (!number(times.least)) return wrong();
    times.most = times.least;
    if (take(',')) {
      uint32_t most = 0;
      times.most = number(most) ? std::optional(most) : std::nullopt;
    }
    if (!take('}') || times.least > kMaxRepetitions || times.most.value_or(0) > kMaxRepetitions) return wrong();
    if (times.most && *times.most < times.least) return fail("{{ }} holds the larger number first");
    return times;
  }

  bool number(uint32_t& value) {
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) return false;
    at_ = static_cast<size_t>(end - text_.data());
    return true;
  }

  // It stands there as often as it has to be; then either a loop, or as often as it may be, each of which leads to the end.
  static Result<Program> repeat(const Program& part, const Times& times) {
    const size_t copies = times.most ? *times.most : times.least + size_t{1};
    if (copies * (part.size() + 1) > Pattern::kMaxInstructions) return fail("its repetitions make it too large");
    Program made;
    for (uint32_t i = 0; i < times.least; ++i) made.insert(made.end(), part.begin(), part.end());
    if (!times.most) {
      made.push_back({Operation::kSplit, 1, distance(part.size() + 2)});
      made.insert(made.end(), part.begin(), part.end());
      made.push_back({Operation::kJump, -distance(part.size() + 1)});
      return made;
    }
    for (uint32_t left = *times.most - times.least; left > 0; --left) {
      made.push_back({Operation::kSplit, 1, distance(left * (part.size() + 1))});
      made.insert(made.end(), part.begin(), part.end());
    }
    return made;
  }

  Program one_of(const Bytes& set) {
    sets_.push_back(set);
    return {{Operation::kBytes, static_cast<int32_t>(sets_.size() - 1)}};
  }

  static Bytes set_of_byte(char byte) {
    Bytes set;
    set.set(static_cast<unsigned char>(byte));
    return set;
  }

  Result<Program> atom(int depth) {
    const char next = text_[at_++];
    switch (next) {
      case '(':
        return group(depth);
      case '[':
        return bracket();
      case '.':
        return one_of(~Bytes());
      case '^':
        return Program{{Operation::kBegin}};
      case '$':
        return Program{{Operation::kEnd}};
      case '\\':
        return escape();
      case '*':
      case '+':
      case '?':
        return fail("nothing stands before {} that could be repeated", next);
      case '{':
        return fail("nothing stands before {{ that could be repeated");
      default:
        return character(next);
    }
  }

  // With the bytes that belong to it, so that what follows repeats all of it.
  Program character(char first) {
    Program made = one_of(set_of_byte(first));
    const auto continues = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; };
    while (!is_ascii(static_cast<unsigned char>(first)) && at_ < text_.size() && continues(text_[at_])) {
      const Program more = one_of(set_of_byte(text_[at_++]));
      made.insert(made.end(), more.begin(), more.end());
    }
    return made;
  }

  Result<Program> group(int depth) {
    if (take('?') && !take(':')) return fail("(? that isn't (?: can't be used here");
    auto made = alternatives(depth + 1);
    if (made && !take(')')) return fail("a ( has no )");
    return made;
  }

  Result<Program> escape() {
    if (at_ == text_.size()) return fail("nothing follows its last backslash");
    const char letter = text_[at_];
    if (letter == 'b' || letter == 'B') {
      ++at_;
      return Program{{letter == 'b' ? Operation::kWordEdge : Operation::kNoWordEdge}};
    }
    if (const auto set = class_of_escape(letter)) {
      ++at_;
      return one_of(*set);
    }
    const auto byte = escaped_byte();
    if (!byte) return std::unexpected(byte.error());
    return one_of(set_of_byte(*byte));
  }

  // Behind the backslash, where that means one byte.
  Result<char> escaped_byte() {
    if (at_ == text_.size()) return fail("nothing follows its last backslash");
    const char letter = text_[at_++];
    switch (letter) {
      case 't':
        return '\t';
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      default:
        break;
    }
    if (is_digit(static_cast<unsigned char>(letter))) {
      return fail("\\{} can't be used here: what was matched before isn't kept", letter);
    }
    if (is_letter(static_cast<unsigned char>(letter))) return fail("\\{} means nothing here", letter);
    return letter;
  }

  Result<Program> bracket() {
    const bool is_negated = take('^');
    Bytes set;
    for (bool is_first = true; is_first || !has(']'); is_first = false) {
      if (at_ == text_.size()) return fail("a [ has no ]");
      if (take("[:")) {
        HEAPTAP_TRY(named_class(set));
        continue;
      }
      const auto class_here = has('\\') && at_ + 1 < text_.size() ? class_of_escape(text_[at_ + 1]) : std::nullopt;
      if (class_here) {
        set |= *class_here;
        at_ += 2;
        continue;
      }
      HEAPTAP_TRY(range(set));
    }
    ++at_;
    return one_of(is_negated ? ~set : set);
  }

  // Behind [[:
  Result<> named_class(Bytes& set) {
    for (const auto& [name, predicate] : kClasses) {
      if (!take(fmt::format("{}:]", name))) continue;
      set |= set_of(predicate);
      return {};
    }
    return fail("[[:…:]] holds no known name, such as alpha");
  }

  Result<char> byte_of_bracket() {
    if (at_ == text_.size()) return fail("a [ has no ]");
    const char byte = text_[at_++];
    if (byte == '\\') return escaped_byte();
    if (!is_ascii(static_cast<unsigned char>(byte))) return fail("[ ] holds a character beyond ASCII");
    return byte;
  }

  // "a", or "a-z".
  Result<> range(Bytes& set) {
    const auto low = byte_of_bracket();
    if (!low) return std::unexpected(low.error());
    const bool is_range = has('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']';
    if (!is_range) {
      set.set(static_cast<unsigned char>(*low));
      return {};
    }
    ++at_;
    const auto high = byte_of_bracket();
    if (!high) return std::unexpected(high.error());
    if (static_cast<unsigned char>(*high) < static_cast<unsigned char>(*low))
      return fail("[ ] holds a range whose end comes before its beginning");
    const auto last = static_cast<unsigned char>(*high);
    for (size_t byte = static_cast<unsigned char>(*low); byte <= last; ++byte) set.set(byte);
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  std::vector<Bytes> sets_;
};

}  // namespace

// The places of the program that the text may have led to, each once.
struct Pattern::Places {
  explicit Places(size_t size) : seen(size, 0) {}
  void clear() {
    ++round;
    waiting.clear();
    matched = false;
  }

  std::vector<uint32_t> seen;  // the round in which a place was reached last
  uint32_t round = 0;
  std::vector<uint32_t> waiting;  // of those that want a byte
  std::vector<uint32_t> open;     // reached, not followed yet
  bool matched = false;
};

Result<Pattern> Pattern::create(std::string_view text) {
  if (text.size() > kMaxBytes) return fail("it has more than {} characters", kMaxBytes);
  Parser parser(text);
  auto program = parser.parse();
  if (!program) return std::unexpected(std::move(program).error());
  Pattern pattern;
  pattern.program_ = *std::move(program);
  pattern.sets_ = parser.take_sets();
  return pattern;
}

// All that is reached from a place without another byte, before text[at].
void Pattern::follow(size_t place, std::string_view text, size_t at, Places& places) const {
  const auto reach = [&](size_t next) {
    if (std::exchange(places.seen[next], places.round) != places.round)
      places.open.push_back(static_cast<uint32_t>(next));
  };
  const auto is_word_at = [&](size_t index) {
    return index < text.size() && is_word(static_cast<unsigned char>(text[index]));
  };
  reach(place);
  while (!places.open.empty()) {
    const uint32_t here = places.open.back();
    places.open.pop_back();
    const Instruction& instruction = program_[here];
    const auto go = [&](int32_t by) { reach(static_cast<size_t>(static_cast<int64_t>(here) + by)); };
    const bool is_edge = (at > 0 && is_word_at(at - 1)) != is_word_at(at);
    switch (instruction.operation) {
      case Operation::kBytes:
        places.waiting.push_back(here);
        break;
      case Operation::kSplit:
        go(instruction.second);
        go(instruction.first);
        break;
      case Operation::kJump:
        go(instruction.first);
        break;
      case Operation::kBegin:
        if (at == 0) go(1);
        break;
      case Operation::kEnd:
        if (at == text.size()) go(1);
        break;
      case Operation::kWordEdge:
        if (is_edge) go(1);
        break;
      case Operation::kNoWordEdge:
        if (!is_edge) go(1);
        break;
      case Operation::kMatch:
        places.matched = true;
        break;
    }
  }
}

bool Pattern::matches(std::string_view text) const {
  Places here(program_.size());
  Places next(program_.size());
  here.clear();
  for (size_t at = 0;; ++at) {
    follow(0, text, at, here);  // a match may begin anywhere
    if (here.matched) return true;
    if (at == text.size()) return false;
    next.clear();
    const auto byte = static_cast<unsigned char>(text[at]);
    for (const uint32_t place : here.waiting) {
      if (sets_[static_cast<size_t>(program_[place].first)][byte]) follow(place + size_t{1}, text, at + 1, next);
    }
    std::swap(here, next);
  }
}

}  // namespace heaptap::base
