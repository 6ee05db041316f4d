// Where the frames of a trace are: read from the index at its end, or found by going from head to head where there is none
// (a trace that was cut off has none).
#pragma once
#include <cstdint>
#include <vector>

#include "wire/frame.h"

namespace heaptap::trace {

struct FramePlace {
  wire::FrameType type{};
  uint64_t offset = 0;       // of the frame's head
  uint64_t first_event = 0;  // events in the frames before it; 0 throughout where the index was rebuilt
};

struct TraceIndex {
  std::vector<FramePlace> frames;  // in order, without the index itself
  bool rebuilt = false;            // the trace had no index, or a damaged one
};

// `descriptor` is open for reading on a file of `bytes` bytes with a sound head. Never fails: what is damaged ends the list.
TraceIndex read_trace_index(int descriptor, uint64_t bytes);

// The payload of an index frame.
bool read_index_payload(const uint8_t* payload, size_t bytes, std::vector<FramePlace>& frames);

}  // namespace heaptap::trace
