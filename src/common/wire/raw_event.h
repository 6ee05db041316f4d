// Event as read from a log: in the agent's numbering, with target addresses and clock ticks.
#pragma once
#include <stdint.h>

#include "common/wire/log.h"

namespace heaptap::wire {

struct RawEvent {
  uint64_t time;            // clock ticks
  uint64_t tagged_address;  // kind, function and address as in a record
  uint64_t size_bytes;
  uint32_t stack;   // node number of the stack; for a note, number of its text
  uint32_t thread;  // thread number

  [[nodiscard]] constexpr uint64_t address() const { return record_address(tagged_address); }
  [[nodiscard]] constexpr RecordKind kind() const { return record_kind(tagged_address); }
  [[nodiscard]] constexpr uint8_t function() const { return record_function(tagged_address); }
};
static_assert(sizeof(RawEvent) == 32);

}  // namespace heaptap::wire
