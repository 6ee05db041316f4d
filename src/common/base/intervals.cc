#include "common/base/intervals.h"

#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "common/base/whole_number.h"

namespace heaptap::base {
namespace {

constexpr Intervals::Time kLeast{5};

// Intervals that aren't set yet, by name.
using Places = std::vector<std::pair<std::string_view, Intervals::Time*>>;

Intervals::Time* take(Places& places, std::string_view name) {
  for (auto& place : places) {
    if (place.first == name) return std::exchange(place.second, nullptr);
  }
  return nullptr;
}

std::optional<Intervals::Time> parse_time(std::string_view text, Intervals::Time most) {
  constexpr std::string_view kUnit = "ms";
  if (!text.ends_with(kUnit)) return std::nullopt;
  const auto count = whole_number<uint32_t>(text.substr(0, text.size() - kUnit.size()));
  if (!count || *count < kLeast.count() || *count > most.count()) return std::nullopt;
  return Intervals::Time(*count);
}

}  // namespace

std::optional<Intervals> parse_intervals(std::string_view text) {
  Intervals intervals;
  Places places{{"write", &intervals.write},   {"heartbeat", &intervals.heartbeat}, {"silence", &intervals.silence},
                {"retry", &intervals.retry},   {"look", &intervals.look},           {"reach", &intervals.reach},
                {"remind", &intervals.remind}, {"links", &intervals.links}};
  while (true) {
    const std::string_view part = text.substr(0, text.find(','));
    const size_t sign = part.find('=');
    if (sign == std::string_view::npos) return std::nullopt;
    Intervals::Time* const place = take(places, part.substr(0, sign));
    if (place == nullptr) return std::nullopt;
    const auto time = parse_time(part.substr(sign + 1), *place);
    if (!time) return std::nullopt;
    *place = *time;
    if (part.size() == text.size()) break;
    text.remove_prefix(part.size() + 1);
  }
  if (intervals.silence < 2 * intervals.heartbeat) return std::nullopt;
  return intervals;
}

const Intervals& intervals() {
  static const Intervals own = [] {
    const char* const text = secure_getenv(kIntervalsVariable);  // NOLINT(concurrency-mt-unsafe)
    return text == nullptr ? Intervals{} : parse_intervals(text).value_or(Intervals{});
  }();
  return own;
}

}  // namespace heaptap::base
