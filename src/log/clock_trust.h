// Whether the processor's clock may order events: it has to be the same on all processors and never go back, which the kernel
// knows best. It watches the counter, and takes another source of time where it isn't so.
#pragma once
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

struct ClockVerdict {
  bool is_trusted = false;
  std::string reason;  // why it isn't, as part of a sentence
};

ClockVerdict judge_clock(const ClockFacts& facts);

// Of this machine.
ClockFacts read_clock_facts();

}  // namespace heaptap::log
