#include "views/json/json_reader.h"

#include <charconv>
#include <cmath>

#include "views/json/utf8.h"

namespace heaptap::json {
namespace {

void append_utf8(std::string& text, uint32_t code_point) {
  const auto follow = [&text](uint32_t bits) { text += static_cast<char>(0x80 | (bits & 0x3f)); };
  if (code_point < 0x80) {
    text += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    text += static_cast<char>(0xc0 | code_point >> 6);
    follow(code_point);
  } else if (code_point < 0x10000) {
    text += static_cast<char>(0xe0 | code_point >> 12);
    follow(code_point >> 6);
    follow(code_point);
  } else {
    text += static_cast<char>(0xf0 | code_point >> 18);
    follow(code_point >> 12);
    follow(code_point >> 6);
    follow(code_point);
  }
}

bool is_decimal_digit(char character) { return character >= '0' && character <= '9'; }

// The character that a backslash and this one stand for; 0: none.
char escaped(char character) {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kCharacters = "\"\\/\b\f\n\r\t";
  const size_t found = kLetters.find(character);
  return found == std::string_view::npos ? '\0' : kCharacters[found];
}

}  // namespace

// Recursive descent; its depth is bounded.
class JsonReader {
 public:
  JsonReader(std::string_view text, size_t max_depth) : text_(text), max_depth_(max_depth) {}

  base::Result<JsonValue> read() {
    JsonValue value;
    HEAPTAP_TRY(read_value(value, 0));
    skip_space();
    if (at_ != text_.size()) return wrong("something follows the value");
    return value;
  }

 private:
  using Kind = JsonValue::Kind;

  [[nodiscard]] std::unexpected<base::Error> wrong(const char* what) const {
    return base::fail("not JSON: {} at byte {}", what, at_);
  }
  [[nodiscard]] char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char character) {
    if (at_ == text_.size() || text_[at_] != character) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void skip_space() {
    while (next() == ' ' || next() == '\t' || next() == '\n' || next() == '\r') ++at_;
  }

  base::Result<> read_value(JsonValue& value, size_t depth) {
    skip_space();
    switch (next()) {
      case '{':
        return read_object(value, depth + 1);
      case '[':
        return read_array(value, depth + 1);
      case '"':
        value.kind_ = Kind::kString;
        return read_string(value.text_);
      default:
        break;
    }
    if (take_word("null")) return {};
    const bool is_true = take_word("true");
    if (is_true || take_word("false")) {
      value.kind_ = Kind::kBool;
      value.boolean_ = is_true;
      return {};
    }
    return read_number(value);
  }

  base::Result<> read_object(JsonValue& value, size_t depth) {
    if (depth > max_depth_) return wrong("nested too deep");
    value.kind_ = Kind::kObject;
    ++at_;
    skip_space();
    if (take('}')) return {};
    for (;;) {
      skip_space();
      if (next() != '"') return wrong("a name is missing");
      auto& [name, member] = value.members_.emplace_back();
      HEAPTAP_TRY(read_string(name));
      skip_space();
      if (!take(':')) return wrong("a colon is missing");
      HEAPTAP_TRY(read_value(member, depth));
      skip_space();
      if (take('}')) return {};
      if (!take(',')) return wrong("a comma or } is missing");
    }
  }

  base::Result<> read_array(JsonValue& value, size_t depth) {
    if (depth > max_depth_) return wrong("nested too deep");
    value.kind_ = Kind::kArray;
    ++at_;
    skip_space();
    if (take(']')) return {};
    for (;;) {
      HEAPTAP_TRY(read_value(value.elements_.emplace_back(), depth));
      skip_space();
      if (take(']')) return {};
      if (!take(',')) return wrong("a comma or ] is missing");
    }
  }

  base::Result<> read_string(std::string& string) {
    ++at_;
    while (at_ < text_.size()) {
      const char character = text_[at_];
      if (take('"')) return {};
      if (static_cast<unsigned char>(character) < 0x20) return wrong("a control character in a string");
      if (character == '\\') {
        HEAPTAP_TRY(read_escape(string));
        continue;
      }
      const Utf8Character first = first_character(text_.substr(at_));
      if (!first.is_whole) return wrong("invalid UTF-8");
      string += text_.substr(at_, first.length);
      at_ += first.length;
    }
    return wrong("a string without an end");
  }

  base::Result<> read_escape(std::string& string) {
    ++at_;
    if (const char character = escaped(next()); character != '\0') {
      string += character;
      ++at_;
      return {};
    }
    auto unit = read_unit();
    if (!unit) return wrong("an unknown escape");
    uint32_t code_point = *unit;
    if (code_point >= 0xd800 && code_point < 0xdc00) {
      if (!take('\\')) return wrong("half of a surrogate pair");
      unit = read_unit();
      if (!unit || *unit < 0xdc00 || *unit > 0xdfff) return wrong("half of a surrogate pair");
      code_point = 0x10000 + ((code_point - 0xd800) << 10) + (*unit - 0xdc00);
    } else if (code_point >= 0xdc00 && code_point <= 0xdfff) {
      return wrong("half of a surrogate pair");
    }
    append_utf8(string, code_point);
    return {};
  }

  // The number behind a backslash: uXXXX.
  std::optional<uint32_t> read_unit() {
    constexpr size_t kDigits = 4;
    if (!take('u') || text_.size() - at_ < kDigits) return std::nullopt;
    uint32_t unit = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, begin + kDigits, unit, 16);
    if (error != std::errc() || end != begin + kDigits) return std::nullopt;
    at_ += kDigits;
    return unit;
  }

  bool skip_digits() {
    const size_t begin = at_;
    while (is_decimal_digit(next())) ++at_;
    return at_ != begin;
  }

  base::Result<> read_number(JsonValue& value) {
    const size_t begin = at_;
    take('-');
    const bool is_zero = take('0');
    if (!is_zero && !skip_digits()) return wrong(at_ == text_.size() ? "a value is missing" : "an unknown value");
    if (take('.') && !skip_digits()) return wrong("a digit is missing");
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      if (!skip_digits()) return wrong("a digit is missing");
    }
    value.kind_ = Kind::kNumber;
    value.text_ = text_.substr(begin, at_ - begin);
    return {};
  }

  std::string_view text_;
  size_t max_depth_;
  size_t at_ = 0;
};

const std::string JsonValue::kNothing;

std::optional<uint64_t> JsonValue::whole_number() const {
  constexpr double kHighest = 9007199254740992.0;  // 2^53
  double number = 0;
  const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
  if (!is(Kind::kNumber) || error != std::errc()) return std::nullopt;
  if (!(number >= 0 && number <= kHighest) || std::floor(number) != number) return std::nullopt;
  return static_cast<uint64_t>(number);
}

const JsonValue* JsonValue::find(std::string_view name) const {
  for (auto member = members_.rbegin(); member != members_.rend(); ++member) {
    if (member->first == name) return &member->second;
  }
  return nullptr;
}

base::Result<JsonValue> read_json(std::string_view text, size_t max_depth) {
  return JsonReader(text, max_depth).read();
}

}  // namespace heaptap::json
