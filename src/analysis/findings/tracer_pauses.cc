#include "analysis/findings/tracer_pauses.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/base/units.h"

namespace heaptap::findings {

std::optional<double> paused_share(std::optional<uint64_t> paused_ns, uint64_t time_ns) {
  if (!paused_ns || time_ns == 0) return std::nullopt;
  return std::min(static_cast<double>(*paused_ns) / static_cast<double>(time_ns), 1.0);
}

bool pauses_matter(std::optional<uint64_t> paused_ns, uint64_t time_ns) {
  constexpr double kLeastShare = 0.05;
  constexpr uint64_t kLeastNs = 100'000'000;  // a short program has no queue that could grow
  return paused_share(paused_ns, time_ns).value_or(0) >= kLeastShare && paused_ns.value_or(0) >= kLeastNs;
}

std::optional<std::string> pauses_text(std::optional<uint64_t> paused_ns, uint64_t time_ns) {
  constexpr double kHundred = 100;
  const auto share = paused_share(paused_ns, time_ns);
  if (!share) return std::nullopt;
  return fmt::format("{}, {:.0f}% of the time", base::format_duration(*paused_ns), kHundred * *share);
}

std::string pauses_sentence(const model::Capture& capture) {
  if (!pauses_matter(capture.paused_by_tracer_ns, capture.duration_ns)) return "";
  const bool may_take_agent = !capture.from_start && capture.architecture == "x86_64";
  return fmt::format("the tracer paused the program for at least {}: queues may grow that don't otherwise{}",
                     *pauses_text(capture.paused_by_tracer_ns, capture.duration_ns),
                     may_take_agent ? "; attach --via agent doesn't pause it" : "");
}

}  // namespace heaptap::findings
