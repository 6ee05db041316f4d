#include "views/top/short_text.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "common/base/units.h"

namespace heaptap::top {
namespace {

// Three digits and a unit's letter. `last`: of `units`, which numbers beyond all units keep.
std::string scaled(double value, double step, std::string_view units) {
  size_t unit = 0;
  value /= step;
  while (value >= step - 0.5 && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}{}", value, decimals, units[unit]);
}

}  // namespace

uint64_t whole(double count) {
  constexpr double kTooLarge = 18446744073709551616.0;
  return count >= kTooLarge ? ~uint64_t{0} : count <= 0 ? 0 : static_cast<uint64_t>(std::round(count));
}

std::string short_bytes(double bytes) {
  return bytes < 1023.5 ? fmt::format("{:.0f}", bytes) : scaled(bytes, 1024, "KMGTPE");
}

std::string short_change(double bytes) {
  if (std::abs(bytes) < 0.5) return "0";
  return fmt::format("{}{}", bytes < 0 ? '-' : '+', short_bytes(std::abs(bytes)));
}

std::string short_count(double count) {
  if (count < 9.95 && count != std::floor(count)) return fmt::format("{:.1f}", count);
  if (count < 99'999.5) return base::format_count(whole(count));
  return scaled(count, 1000, "kMGTPE");
}

std::string counted(uint64_t count, const char* what) {
  return fmt::format("{} {}{}", base::format_count(count), what, count == 1 ? "" : "s");
}

std::string short_duration(double nanoseconds) {
  if (nanoseconds < 999.5) return fmt::format("{:.0f}ns", nanoseconds);
  if (nanoseconds < 99.95e3) return fmt::format("{:.1f}us", nanoseconds / 1e3);
  if (nanoseconds < 999.5e3) return fmt::format("{:.0f}us", nanoseconds / 1e3);
  if (nanoseconds < 99.95e6) return fmt::format("{:.1f}ms", nanoseconds / 1e6);
  if (nanoseconds < 999.5e6) return fmt::format("{:.0f}ms", nanoseconds / 1e6);
  if (nanoseconds < 99.95e9) return fmt::format("{:.1f}s", nanoseconds / 1e9);
  const auto seconds = whole(std::floor(nanoseconds / 1e9));
  if (seconds < 3600) return fmt::format("{}m{:02}", seconds / 60, seconds % 60);
  if (seconds < 86'400) return fmt::format("{}h{:02}", seconds / 3600, seconds / 60 % 60);
  if (seconds < 3'653 * 86'400ull) return fmt::format("{}d", seconds / 86'400);
  return fmt::format("{}y", seconds / 31'556'952);
}

std::string clock_text(uint64_t nanoseconds) {
  const uint64_t seconds = nanoseconds / 1'000'000'000;
  const std::string time = fmt::format("{:02}:{:02}:{:02}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
  return seconds < 86'400 ? time : fmt::format("{}d {}", seconds / 86'400, time);
}

}  // namespace heaptap::top
