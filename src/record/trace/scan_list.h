// List of a trace's leak scans, complete and incomplete.
#pragma once
#include <functional>
#include <vector>

#include "record/trace/scan_frames.h"
#include "record/trace/trace_index.h"

namespace heaptap::trace {

struct ScanList {
  std::vector<ScanSummary> scans;  // complete ones
  std::vector<size_t> heads;       // of each: index of its head among the frames
  std::vector<model::Note> notes;  // why others can't be used
};

// `read` returns the payload of a frame, or false if damaged; called for the scans' heads only.
// `has_notes`: see read_scan_head.
ScanList list_scans(const std::vector<FramePlace>& frames, uint64_t file_bytes, bool has_notes,
                    const std::function<bool(const FramePlace&, wire::VarintReader&)>& read);

}  // namespace heaptap::trace
