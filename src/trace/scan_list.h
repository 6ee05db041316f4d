// Which leak scans a trace holds, and which of them are whole.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "trace/scan_frames.h"
#include "trace/trace_index.h"

namespace heaptap::trace {

struct ScanList {
  std::vector<ScanSummary> scans;  // those with all their frames
  std::vector<size_t> heads;       // of each: index of its head among the frames
  std::vector<std::string> notes;  // why others can't be used
};

// `read` gives the payload of a frame, or false where it is damaged; it is asked for the scans' heads only.
ScanList list_scans(const std::vector<FramePlace>& frames, uint64_t file_bytes,
                    const std::function<bool(const FramePlace&, wire::VarintReader&)>& read);

}  // namespace heaptap::trace
