#include "record/trace/scan_list.h"

#include <algorithm>

namespace heaptap::trace {
namespace {

constexpr size_t kMaxListNotes = 100;

bool is_scan(const std::vector<FramePlace>& frames, size_t at) {
  return at < frames.size() && frames[at].type == wire::FrameType::kScan;
}

// The first frame after the scan frames from `from` on, at most `most` of them.
size_t behind_scan_frames(const std::vector<FramePlace>& frames, size_t from, uint64_t most) {
  size_t at = from;
  while (at - from < most && is_scan(frames, at)) ++at;
  return at;
}

}  // namespace

ScanList list_scans(const std::vector<FramePlace>& frames, uint64_t file_bytes, bool has_notes,
                    const std::function<bool(const FramePlace&, wire::VarintReader&)>& read) {
  ScanList list;
  const auto note = [&](model::Note made) {
    if (list.notes.size() < kMaxListNotes) list.notes.push_back(std::move(made));
  };
  for (size_t head = 0; head < frames.size();) {
    if (!is_scan(frames, head)) {
      ++head;
      continue;
    }
    wire::VarintReader payload;
    ScanSummary summary;
    if (!read(frames[head], payload) || !read_scan_head(payload, summary, has_notes)) {
      note({.kind = model::NoteKind::kScanHeadDamaged, .numbers = {frames[head].offset}});
      head = behind_scan_frames(frames, head, frames.size());
      continue;
    }
    const size_t end = behind_scan_frames(frames, head + 1, summary.frame_count);
    if (end - head - 1 < summary.frame_count) {
      note({.kind = model::NoteKind::kScanCutOff,
            .numbers = {summary.facts.number, end - head, summary.frame_count + 1}});
    } else {
      const uint64_t behind = end < frames.size() ? frames[end].offset : file_bytes;
      summary.stored_bytes = behind - std::min(frames[head].offset, behind);
      list.scans.push_back(std::move(summary));
      list.heads.push_back(head);
    }
    head = end;
  }
  return list;
}

}  // namespace heaptap::trace
