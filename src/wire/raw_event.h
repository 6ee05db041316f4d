// An event as it comes out of an agent's log: the agent's numbers, the target's addresses, clock ticks.
#pragma once
#include <stdint.h>

#include "wire/log.h"

namespace heaptap::wire {

struct RawEvent {
  uint64_t time;  // clock ticks
  uint64_t what;  // kind, function and address as in a record
  uint64_t size_bytes;
  uint32_t stack;   // number of the stack's node
  uint32_t thread;  // thread number

  [[nodiscard]] constexpr uint64_t address() const { return record_address(what); }
  [[nodiscard]] constexpr RecordKind kind() const { return record_kind(what); }
  [[nodiscard]] constexpr uint8_t function() const { return record_function(what); }
};
static_assert(sizeof(RawEvent) == 32);

}  // namespace heaptap::wire
