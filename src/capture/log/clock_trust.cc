#include "capture/log/clock_trust.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "common/arch/native.h"
#include "common/base/small_file.h"

namespace heaptap::log {
namespace {

// Clock sources of hypervisors, based on the counter. If the counter itself is sound, the kernel lists it as well.
constexpr std::array kMadeOfCounter = {"kvm-clock", "hyperv_clocksource_tsc_page", "xen"};

}  // namespace

ClockVerdict judge_clock(const ClockFacts& facts) {
  if (facts.wanted == "counter") return {ClockDoubt::kNotWanted};
  if (facts.counter.empty()) return {ClockDoubt::kNotShared};
  if (facts.wanted == "processor") return {ClockDoubt::kNone};
  if (facts.source.empty()) return {ClockDoubt::kNotKnown};
  if (facts.source == facts.counter) return {ClockDoubt::kNone};
  const bool is_made_of_it = std::ranges::find(kMadeOfCounter, facts.source) != kMadeOfCounter.end();
  const bool is_available = std::ranges::find(facts.available, facts.counter) != facts.available.end();
  if (is_made_of_it && is_available && facts.is_invariant) return {ClockDoubt::kNone};
  return {ClockDoubt::kNotUsed, facts.source};
}

ClockFacts read_clock_facts() {
  const std::string kClockSource = "/sys/devices/system/clocksource/clocksource0/";
  ClockFacts facts;
  const auto current = base::words_of(base::read_small_file(kClockSource + "current_clocksource"));
  if (!current.empty()) facts.source = current.front();
  facts.available = base::words_of(base::read_small_file(kClockSource + "available_clocksource"));
  if (arch::native::kKernelClock != nullptr) facts.counter = arch::native::kKernelClock;
  facts.is_invariant = arch::native::clock_is_invariant();
  if (const char* wanted = std::getenv("HEAPTAP_CLOCK")) facts.wanted = wanted;
  return facts;
}

}  // namespace heaptap::log
