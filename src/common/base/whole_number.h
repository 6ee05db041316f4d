// Integer parsing for command lines, console commands and files.
#pragma once
#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace heaptap::base {

// Only digits, of any length.
inline bool is_digits(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char letter) { return letter >= '0' && letter <= '9'; });
}

// None: characters other than digits, or too large for the type.
template <typename Number>
std::optional<Number> whole_number(std::string_view word) {
  if (!is_digits(word)) return std::nullopt;
  Number number{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

}  // namespace heaptap::base
