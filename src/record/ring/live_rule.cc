#include "record/ring/live_rule.h"

#include <fmt/format.h>

#include <utility>

#include "common/base/units.h"

namespace heaptap::ring {
namespace {

constexpr size_t kMomentsInPeriod = 64;

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// "min", "h", "s", or a number before such a word.
base::Result<uint64_t> period_of(std::string_view text) {
  const bool has_number = !text.empty() && text.front() >= '0' && text.front() <= '9';
  if (text.ends_with("min")) text.remove_suffix(2);
  return base::parse_duration(has_number ? std::string(text) : fmt::format("1{}", text));
}

}  // namespace

base::Result<LiveRule> LiveRule::parse(std::string_view text) {
  const auto malformed = [text](std::string_view why) {
    return base::fail_as(base::ErrorKind::kUsage, "--when '{}': {}; write 'live > 2G' or 'growth > 10M/min'", text,
                         why);
  };
  const size_t sign = text.find('>');
  if (sign == std::string_view::npos) return malformed("it has no >");
  const std::string_view what = trimmed(text.substr(0, sign));
  std::string_view limit = trimmed(text.substr(sign + 1));
  const bool is_growth = what == "growth";
  if (!is_growth && what != "live") return malformed("it is neither of live nor of growth");
  const size_t slash = limit.find('/');
  if (is_growth != (slash != std::string_view::npos))
    return malformed(is_growth ? "growth is a size in a time" : "live memory is a size");
  uint64_t period_ns = 0;
  if (is_growth) {
    const auto period = period_of(trimmed(limit.substr(slash + 1)));
    if (!period || *period == 0) return malformed("its time can't be read");
    period_ns = *period;
    limit = trimmed(limit.substr(0, slash));
  }
  const auto bytes = base::parse_size(limit);
  if (!bytes) return malformed("its size can't be read");
  return LiveRule(std::string(trimmed(text)), *bytes, period_ns);
}

bool LiveRule::is_met_first(uint64_t time_ns, uint64_t live_bytes) {
  const bool is = is_met({time_ns, live_bytes});
  const bool was = std::exchange(was_met_, is);
  return is && !was;
}

bool LiveRule::is_met(const Moment& now) {
  if (period_ns_ == 0) return now.live_bytes > limit_bytes_;
  const uint64_t begin_ns = now.time_ns > period_ns_ ? now.time_ns - period_ns_ : 0;
  while (moments_.size() > 1 && moments_[1].time_ns <= begin_ns) moments_.pop_front();
  if (moments_.empty() || now.time_ns - moments_.back().time_ns >= period_ns_ / kMomentsInPeriod)
    moments_.push_back(now);
  const Moment& before = moments_.front();
  const bool is_whole = now.time_ns - before.time_ns >= period_ns_;  // else it is too early to tell
  return is_whole && now.live_bytes > before.live_bytes && now.live_bytes - before.live_bytes > limit_bytes_;
}

}  // namespace heaptap::ring
