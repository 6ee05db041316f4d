#include "apps/heaptap/options/growth_limits.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "common/base/units.h"

namespace heaptap::app {
namespace {

using report::GrowthLimit;
using report::LimitKind;

constexpr LimitKind kKinds[] = {LimitKind::kLeaked, LimitKind::kPeak, LimitKind::kLive, LimitKind::kAllocations};
constexpr std::string_view kStackPrefix = "stack-";

std::unexpected<base::Error> wrong(const std::string& text) {
  return base::fail_as(base::ErrorKind::kUsage,
                       "'{}' is not a growth limit: write it like 5%, 64K, peak=5%, leaked=0 or stack-live=64K", text);
}

template <typename Number>
bool parse_whole(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

base::Result<GrowthLimit> parse_amount(std::string_view amount, GrowthLimit limit, const std::string& text) {
  if (amount.ends_with('%')) {
    double percent = 0;
    if (!parse_whole(amount.substr(0, amount.size() - 1), percent) || !(percent >= 0 && percent <= 1e6))
      return wrong(text);
    limit.percent = percent;
    return limit;
  }
  if (limit.kind == LimitKind::kAllocations) {
    if (!parse_whole(amount, limit.most)) return wrong(text);
    return limit;
  }
  const auto size = base::parse_size(amount);
  if (!size) return wrong(text);
  limit.most = *size;
  return limit;
}

}  // namespace

base::Result<std::vector<GrowthLimit>> parse_growth(const std::string& text) {
  const size_t equals = text.find('=');
  std::vector<GrowthLimit> limits;
  if (equals == std::string::npos) {
    for (const LimitKind kind : {LimitKind::kLeaked, LimitKind::kPeak, LimitKind::kLive}) {
      const auto limit = parse_amount(text, {.kind = kind}, text);
      if (!limit) return std::unexpected(limit.error());
      limits.push_back(*limit);
    }
    return limits;
  }
  std::string_view name = std::string_view(text).substr(0, equals);
  const bool each_stack = name.starts_with(kStackPrefix);
  if (each_stack) name.remove_prefix(kStackPrefix.size());
  const auto* const kind =
      std::ranges::find_if(kKinds, [name](LimitKind each) { return name == report::name_of(each); });
  if (kind == std::end(kKinds)) return wrong(text);
  const auto limit =
      parse_amount(std::string_view(text).substr(equals + 1), {.kind = *kind, .each_stack = each_stack}, text);
  if (!limit) return std::unexpected(limit.error());
  limits.push_back(*limit);
  return limits;
}

}  // namespace heaptap::app
