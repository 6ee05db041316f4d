// Whether the processor's clock may order events: it has to be the same on all processors and never go back, which the kernel
// knows best. It watches the counter, and takes another source of time where it isn't so.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace heaptap::log {

struct ClockFacts {
  std::string source;                  // the kernel's source of time now; empty: it couldn't be read
  std::vector<std::string> available;  // all that the kernel would take
  std::string counter;                 // the processor's clock, as the kernel calls it; empty: none is known here
  bool is_invariant = false;           // the processor says that its counter goes on at one rate
  std::string wanted;  // HEAPTAP_CLOCK: "processor" or "counter"; empty or anything else: as it is found
};

enum class ClockDoubt : uint8_t {
  kNone,
  kNotWanted,  // HEAPTAP_CLOCK asks for the counter
  kNotShared,  // no clock of this CPU is known that all processors share
  kNotKnown,   // the kernel doesn't say what it takes its time from
  kNotUsed,    // it takes it from something else
};

struct ClockVerdict {
  ClockDoubt doubt = ClockDoubt::kNone;
  std::string source = {};  // with kNotUsed: what the kernel takes its time from
  [[nodiscard]] bool is_trusted() const { return doubt == ClockDoubt::kNone; }
};

ClockVerdict judge_clock(const ClockFacts& facts);

// Of this machine.
ClockFacts read_clock_facts();

}  // namespace heaptap::log
