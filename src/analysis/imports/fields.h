// Fields of a line: numbers and words separated by single spaces.
#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace heaptap::imports {

class Fields {
 public:
  explicit Fields(std::string_view text) : rest_(text) {}

  // Next number; none if the next field isn't one or doesn't fit.
  std::optional<uint64_t> hex() { return number(16); }
  std::optional<uint64_t> decimal() { return number(10); }
  [[nodiscard]] std::string_view rest() const { return rest_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::optional<uint64_t> number(int base) {
    uint64_t value = 0;
    const auto [next, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
    const char* const end = rest_.data() + rest_.size();
    if (error != std::errc() || (next != end && *next != ' ')) return std::nullopt;
    rest_.remove_prefix(static_cast<size_t>(next - rest_.data()) + (next != end ? 1 : 0));
    return value;
  }

  std::string_view rest_;
};

}  // namespace heaptap::imports
