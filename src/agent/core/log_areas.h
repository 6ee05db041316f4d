// Memory areas reported to the collector, which a leak scan needs and can't see from outside: stacks that the program
// set up itself, and mappings of the agent (noted by kernel::map_memory). Never waits; also for signal handlers.
#pragma once
#include <stdint.h>

#include "common/wire/log.h"

namespace heaptap::agent {

void note_stack(const wire::StackArea& area);
void forget_stack(uint64_t begin);

// The first mapping of the agent, other than the log, that overlaps the given addresses; begins at `end`: there is none.
struct OwnRange {
  uint64_t begin;
  uint64_t end;
};
OwnRange first_own_area(uint64_t from, uint64_t end);

// Takes over the mappings made by the agent of the parent, in a forked child.
void inherit_own_areas(const wire::LogHeader& before, const wire::LogLayout& layout);

}  // namespace heaptap::agent
