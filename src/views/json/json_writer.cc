#include "views/json/json_writer.h"

#include <cmath>

#include "views/json/utf8.h"

namespace heaptap::json {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

bool is_plain(char character) {
  const auto byte = static_cast<unsigned char>(character);
  return byte >= 0x20 && byte < 0x80 && character != '"' && character != '\\';
}

void append_escape(std::string& text, char character) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  constexpr std::string_view kSpecial = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  text += '\\';
  if (const size_t found = kSpecial.find(character); found != std::string_view::npos) {
    text += kLetters[found];
    return;
  }
  const auto byte = static_cast<unsigned char>(character);
  text += "u00";
  text += kDigits[byte >> 4];
  text += kDigits[byte & 0xf];
}

// Appends the character that begins there, or its replacement, and returns its length in bytes.
size_t append_character(std::string& text, std::string_view rest) {
  const Utf8Character first = first_character(rest);
  text += first.is_whole ? rest.substr(0, first.length) : kReplacement;
  return first.length;
}

// Digits as in 0.ddd * 10^point, for a nonzero number without its sign.
struct Decimal {
  char digits[24];
  size_t count = 0;
  int point = 0;
};
Decimal decimal_of(double number) {
  char written[32];  // "d.ddde-XXX"
  const char* const end = std::to_chars(written, written + sizeof written, number, std::chars_format::scientific).ptr;
  Decimal decimal;
  const char* at = written;
  for (; *at != 'e'; ++at) {
    if (*at != '.') decimal.digits[decimal.count++] = *at;
  }
  int exponent = 0;
  std::from_chars(at[1] == '+' ? at + 2 : at + 1, end, exponent);
  decimal.point = exponent + 1;
  return decimal;
}

void append_exponent(std::string& text, int exponent) {
  const std::string digits = std::to_string(std::abs(exponent));
  text += exponent < 0 ? "e-" : "e+";
  if (digits.size() < 2) text += '0';
  text += digits;
}

// Like printf's %g, with a point in all that have no exponent.
void append_decimal(std::string& text, const Decimal& decimal) {
  constexpr int kLowestPoint = -3;
  constexpr int kHighestPoint = 15;
  const std::string_view digits(decimal.digits, decimal.count);
  if (decimal.point < kLowestPoint || decimal.point > kHighestPoint) {
    text += digits.front();
    if (digits.size() > 1) (text += '.') += digits.substr(1);
    return append_exponent(text, decimal.point - 1);
  }
  if (decimal.point <= 0) {
    text += "0.";
    text.append(static_cast<size_t>(-decimal.point), '0') += digits;
    return;
  }
  const auto whole = static_cast<size_t>(decimal.point);
  if (digits.size() <= whole) {
    (text += digits).append(whole - digits.size(), '0') += ".0";
    return;
  }
  ((text += digits.substr(0, whole)) += '.') += digits.substr(whole);
}

}  // namespace

void append_json_string(std::string& text, std::string_view value) {
  text += '"';
  size_t written = 0;
  for (size_t at = 0; at < value.size();) {
    if (is_plain(value[at])) {
      ++at;
      continue;
    }
    text += value.substr(written, at - written);
    if (static_cast<unsigned char>(value[at]) < 0x80) {
      append_escape(text, value[at]);
      ++at;
    } else {
      at += append_character(text, value.substr(at));
    }
    written = at;
  }
  text += value.substr(written);
  text += '"';
}

void JsonWriter::value(double number) {
  if (!std::isfinite(number)) return value(nullptr);
  begin_value();
  if (std::signbit(number)) text_ += '-';
  if (std::fpclassify(number) == FP_ZERO)
    text_ += "0.0";
  else
    append_decimal(text_, decimal_of(std::fabs(number)));
}

void JsonWriter::value(JsonHex number) {
  begin_value();
  char digits[16];
  const char* const end = std::to_chars(digits, digits + sizeof digits, number.number, 16).ptr;
  ((text_ += "\"0x").append(digits, static_cast<size_t>(end - digits))) += '"';
}

}  // namespace heaptap::json
