#include "common/base/ip_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace heaptap::base {
namespace {

constexpr size_t kGroups = 8;
using Groups = std::array<uint16_t, kGroups>;

struct Run {
  size_t first = kGroups;
  size_t count = 0;
};

// Of the longest run of zeros the first; a single one is written.
Run zeros_left_out(const Groups& groups) {
  Run longest{.first = kGroups, .count = 1};
  for (size_t first = 0; first < kGroups; ++first) {
    size_t end = first;
    while (end < kGroups && groups[end] == 0) ++end;
    if (end - first > longest.count) longest = {.first = first, .count = end - first};
    first = std::max(first, end);
  }
  return longest;
}

// ::192.168.7.2 and ::ffff:192.168.7.2, as inet_ntop() writes them.
bool ends_as_ipv4(const Groups& groups, const Run& zeros) {
  return zeros.first == 0 && (zeros.count == 6 || (zeros.count == 5 && groups[5] == 0xffff));
}

}  // namespace

std::string ipv4_text(std::span<const uint8_t, kIpv4TextBytes> address) {
  return fmt::format("{}.{}.{}.{}", address[0], address[1], address[2], address[3]);
}

std::string ipv6_text(std::span<const uint8_t, kIpv6TextBytes> address) {
  Groups groups{};
  for (size_t i = 0; i < kGroups; ++i) groups[i] = static_cast<uint16_t>(address[2 * i] << 8 | address[2 * i + 1]);
  const Run zeros = zeros_left_out(groups);
  const bool as_ipv4 = ends_as_ipv4(groups, zeros);
  const size_t written = as_ipv4 ? kGroups - 2 : kGroups;
  std::string text;
  for (size_t i = 0; i < written;) {
    if (i == zeros.first) {
      text += "::";
      i += zeros.count;
      continue;
    }
    if (!text.empty() && !text.ends_with(':')) text += ':';
    text += fmt::format("{:x}", groups[i++]);
  }
  if (!as_ipv4) return text;
  return text + (text.ends_with(':') ? "" : ":") + ipv4_text(address.last<kIpv4TextBytes>());
}

}  // namespace heaptap::base
