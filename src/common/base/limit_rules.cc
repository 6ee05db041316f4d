#include "common/base/limit_rules.h"

#include <algorithm>
#include <cstdint>

#include "common/base/status_file.h"

namespace heaptap::base {

std::optional<LimitWishes> wishes_for(rlim_t wanted, const rlimit& now) {
  if (now.rlim_cur >= wanted) return std::nullopt;
  return LimitWishes{.with_right = {wanted, std::max(wanted, now.rlim_max)},
                     .without_right = {std::min(wanted, now.rlim_max), now.rlim_max}};
}

bool raise_limit(const LimitRule& rule, rlimit& before) {
  if (getrlimit(rule.resource, &before) != 0) return false;
  const auto wishes = wishes_for(rule.wanted, before);
  return wishes &&
         (setrlimit(rule.resource, &wishes->with_right) == 0 || setrlimit(rule.resource, &wishes->without_right) == 0);
}

bool may_go_beyond_limits(std::string_view status) {
  constexpr unsigned kResources = 24;  // CAP_SYS_RESOURCE
  constexpr int kBase = 16;
  const uint64_t capabilities = status_number(status, "CapEff", kBase).value_or(0);
  return (capabilities >> kResources & 1) != 0;
}

bool is_time_enough(const rlimit& seconds, bool may_go_beyond) {
  return may_go_beyond || seconds.rlim_max >= 2 * kSecondsToDetach;
}

std::optional<rlimit> limit_that_warns(const rlimit& seconds) {
  if (seconds.rlim_max == RLIM_INFINITY) return std::nullopt;
  return rlimit{seconds.rlim_max - std::min(kSecondsToDetach, seconds.rlim_max), seconds.rlim_max};
}

std::span<const int> adjustments_for(int now) {
  static constexpr std::array kBest{-1000, 0};  // never raised, and as others
  if (now <= kBest.front()) return {};
  return std::span(kBest).first(now > kBest.back() ? 2 : 1);
}

}  // namespace heaptap::base
