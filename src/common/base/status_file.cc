#include "common/base/status_file.h"

#include <algorithm>
#include <charconv>

namespace heaptap::base {

std::string_view status_field(std::string_view status, std::string_view name) {
  while (!status.empty()) {
    const size_t end = std::min(status.find('\n'), status.size());
    std::string_view line = status.substr(0, end);
    status.remove_prefix(std::min(end + 1, status.size()));
    if (line.size() <= name.size() || !line.starts_with(name) || line[name.size()] != ':') continue;
    line.remove_prefix(name.size() + 1);
    return line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
  }
  return {};
}

std::optional<uint64_t> status_number(std::string_view status, std::string_view name, int base) {
  const std::string_view value = status_field(status, name);
  uint64_t number = 0;
  const bool is_number = std::from_chars(value.data(), value.data() + value.size(), number, base).ec == std::errc{};
  return is_number ? std::optional(number) : std::nullopt;
}

}  // namespace heaptap::base
