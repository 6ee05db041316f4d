#include "analysis/symbols/rust_demangle.h"

#include <cstdint>
#include <limits>

#include "analysis/symbols/rust_v0.h"

namespace heaptap::symbols {
namespace {

struct Escape {
  std::string_view code;
  char meaning;
};
constexpr Escape kEscapes[] = {{"SP", '@'}, {"BP", '*'}, {"RF", '&'}, {"LT", '<'},
                               {"GT", '>'}, {"LP", '('}, {"RP", ')'}, {"C", ','}};

bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

// The text between two '$'.
std::optional<char> decode_escape(std::string_view code) {
  for (const Escape& escape : kEscapes) {
    if (escape.code == code) return escape.meaning;
  }
  if (code.size() != 3 || code[0] != 'u' || !is_hex_digit(code[1]) || !is_hex_digit(code[2])) return std::nullopt;
  auto digit = [](char c) { return is_digit(c) ? c - '0' : c - 'a' + 10; };
  const int value = digit(code[1]) * 16 + digit(code[2]);
  if (value < 0x20 || value > 0x7e) return std::nullopt;
  return static_cast<char>(value);
}

void append_legacy_identifier(std::string_view text, std::string& out) {
  if (text.starts_with("_$")) text.remove_prefix(1);
  while (!text.empty()) {
    if (text.starts_with("..")) {
      out += "::";
      text.remove_prefix(2);
      continue;
    }
    if (text[0] == '$') {
      const size_t end = text.find('$', 1);
      const auto meaning = end == text.npos ? std::nullopt : decode_escape(text.substr(1, end - 1));
      if (meaning) {
        out += *meaning;
        text.remove_prefix(end + 1);
        continue;
      }
    }
    out += text[0];
    text.remove_prefix(1);
  }
}

bool is_hash(std::string_view identifier) {
  if (identifier.size() != 17 || identifier[0] != 'h') return false;
  for (char c : identifier.substr(1)) {
    if (!is_hex_digit(c)) return false;
  }
  return true;
}

// Reads "<decimal length><bytes>" from the front of `text`.
std::optional<std::string_view> take_counted(std::string_view& text) {
  size_t length = 0;
  size_t digits = 0;
  while (digits < text.size() && digits < 7 && is_digit(text[digits])) {
    length = length * 10 + static_cast<size_t>(text[digits++] - '0');
  }
  if (digits == 0 || length == 0 || length > text.size() - digits) return std::nullopt;
  const std::string_view identifier = text.substr(digits, length);
  text.remove_prefix(digits + length);
  return identifier;
}

}  // namespace

std::optional<std::string> demangle_rust_legacy(std::string_view name) {
  if (!name.starts_with("_ZN")) return std::nullopt;
  std::string_view rest = name.substr(3);
  std::string out;
  std::string_view last;
  while (!rest.empty() && rest[0] != 'E') {
    if (!last.empty()) {
      if (!out.empty()) out += "::";
      append_legacy_identifier(last, out);
    }
    const auto identifier = take_counted(rest);
    if (!identifier) return std::nullopt;
    last = *identifier;
  }
  if (rest != "E" || out.empty() || !is_hash(last)) return std::nullopt;
  return out;
}

std::optional<std::string> demangle_rust_v0(std::string_view name) {
  if (!name.starts_with("_R")) return std::nullopt;
  name.remove_prefix(2);
  return RustV0(name.substr(0, name.find_first_of(".$"))).demangle();
}

}  // namespace heaptap::symbols
