// Trust in the processor's clock for ordering events: it must be the same on all processors and monotonic. The kernel
// watches the counter, and uses another clock source if it isn't.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace heaptap::log {

struct ClockFacts {
  std::string source;                  // the kernel's current clock source; empty: unreadable
  std::vector<std::string> available;  // all clock sources that the kernel accepts
  std::string counter;                 // the kernel's name of the processor's clock; empty: none is known here
  bool is_invariant = false;           // the processor reports a constant rate
  std::string wanted;  // HEAPTAP_CLOCK: "processor" or "counter"; empty or anything else: decided by the facts
};

enum class ClockDoubt : uint8_t {
  kNone,
  kNotWanted,  // HEAPTAP_CLOCK requests the counter
  kNotShared,  // this CPU has no known clock that all processors share
  kNotKnown,   // the kernel's clock source is unknown
  kNotUsed,    // the kernel uses another clock source
};

struct ClockVerdict {
  ClockDoubt doubt = ClockDoubt::kNone;
  std::string source = {};  // with kNotUsed: the kernel's clock source
  [[nodiscard]] bool is_trusted() const { return doubt == ClockDoubt::kNone; }
};

ClockVerdict judge_clock(const ClockFacts& facts);

// Facts of this machine.
ClockFacts read_clock_facts();

}  // namespace heaptap::log
