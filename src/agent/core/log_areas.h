// Tells the collector of memory that a scan for leaks must know of and can't see from outside: stacks that the program set
// up for itself, and what the agent mapped for its own use (noted by kernel::map_memory). Never waits; also for signal handlers.
#pragma once
#include <stdint.h>

#include "wire/log.h"

namespace heaptap::agent {

void note_stack(const wire::StackArea& area);
void forget_stack(uint64_t begin);

// The agent's first mapping, but for the log, of which a part lies between these two addresses; from `end` on: there is none.
struct OwnRange {
  uint64_t begin;
  uint64_t end;
};
OwnRange first_own_area(uint64_t from, uint64_t end);

// A forked child has the mappings that its parent's agent made.
void inherit_own_areas(const wire::LogHeader& before, const wire::LogLayout& layout);

}  // namespace heaptap::agent
