// Frame index of a trace: read from its end, or rebuilt by following the frame heads where it is missing (in a
// truncated trace).
#pragma once
#include <cstdint>
#include <vector>

#include "common/wire/frame.h"

namespace heaptap::trace {

struct FramePlace {
  wire::FrameType type{};
  uint64_t offset = 0;       // of the frame's head
  uint64_t first_event = 0;  // number of events in earlier frames; 0 throughout if the index was rebuilt
};

struct TraceIndex {
  std::vector<FramePlace> frames;  // in order, without the index itself
  bool rebuilt = false;            // the index was missing or damaged
};

// `descriptor` is open for reading on a file of `bytes` bytes with a valid head. Never fails: the list ends at damage.
TraceIndex read_trace_index(int descriptor, uint64_t bytes);

// Reads the payload of an index frame.
bool read_index_payload(const uint8_t* payload, size_t bytes, std::vector<FramePlace>& frames);

}  // namespace heaptap::trace
