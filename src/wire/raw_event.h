// An event as it comes out of an agent's log: the agent's numbers, the target's addresses, clock ticks.
#pragma once
#include <stdint.h>

#include "wire/log.h"

namespace heaptap::wire {

struct RawEvent {
  uint64_t time;  // clock ticks
  uint64_t address;
  uint64_t size_bytes;
  uint32_t stack;   // number of the stack's node
  uint32_t thread;  // thread number
  RecordKind kind;
  uint8_t function;
};

}  // namespace heaptap::wire
