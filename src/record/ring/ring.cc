#include "record/ring/ring.h"

#include <fcntl.h>

#include <iterator>
#include <utility>

#include "common/base/pages.h"
#include "common/model/note.h"
#include "record/ring/kept_trace.h"

namespace heaptap::ring {
namespace {

constexpr size_t kMaxBlockNames = size_t{1} << 16;
constexpr size_t kMaxResident = size_t{1} << 16;
constexpr size_t kMaxScans = 2;

template <typename Entry>
void append(Entry entry, size_t max, std::deque<Entry>& entries) {
  entries.push_back(std::move(entry));
  if (entries.size() > max) entries.pop_front();
}

}  // namespace

struct Ring::Writing {
  Writing(Facts facts_then, const model::Tables& all_tables, std::unique_ptr<trace::TraceWriter> file,
          const std::deque<model::HeapScan>& scans_then)
      : facts(std::move(facts_then)), tables(all_tables), to(std::move(file)), scans(scans_then) {}

  Facts facts;
  const model::Tables& tables;
  std::unique_ptr<trace::TraceWriter> to;
  const std::deque<model::HeapScan> scans;
  std::optional<KeptTrace> kept;
  size_t next = 0;  // frame
  size_t end = 0;
};

Ring::Ring(trace::TraceWriter& frames, uint64_t max_bytes, uint64_t resolution_ns)
    : frames_(frames), max_bytes_(max_bytes), resolution_ns_(resolution_ns) {}
Ring::~Ring() = default;

void Ring::add(model::BlockName name) { append(std::move(name), kMaxBlockNames, block_names_); }
void Ring::add(const model::ResidentSample& sample) { append(sample, kMaxResident, resident_); }
void Ring::add(model::HeapScan scan) { append(std::move(scan), kMaxScans, scans_); }
void Ring::add(std::vector<model::CodeName> names) {
  code_names_.insert(code_names_.end(), std::make_move_iterator(names.begin()), std::make_move_iterator(names.end()));
}

template <typename Take>
bool Ring::read(const trace::FramePlace& frame, const model::Tables& tables, Take take) {
  if (frame.type != wire::FrameType::kEvents) return true;
  trace::FrameReader frames(frames_.descriptor(), frames_.bytes_written());
  trace::Frame found;
  if (!frames.read(frame.offset, found) || !reader_.begin(found.payload, tables, resolution_ns_, true)) return false;
  do {
    batch_.clear();
    if (!reader_.next(tables, batch_)) return false;
    take(batch_);
  } while (!reader_.at_end());
  return true;
}

void Ring::trim(const model::Tables& tables) {
  const std::vector<trace::FramePlace>& all = frames_.frames();
  size_t count = 0;
  while (count + 1 < all.size() && frames_.bytes_written() - all[count].offset > max_bytes_) {
    give_up(all[count++], tables);
  }
  if (count == 0) return;
  const uint64_t end = base::page_begin(all[count].offset);
  frames_.forget_frames(count);
  if (end <= freed_until_) return;
  (void)fallocate(frames_.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(freed_until_),
                  static_cast<off_t>(end - freed_until_));
  freed_until_ = end;
}

void Ring::give_up(const trace::FramePlace& frame, const model::Tables& tables) {
  is_damaged_ |= !read(frame, tables, [&](const model::EventBatch& batch) { earlier_.take(batch, tables); });
}

base::Result<> Ring::begin(Facts facts, const model::Tables& tables, std::unique_ptr<trace::TraceWriter> to) {
  HEAPTAP_TRY(to->begin(facts.capture));
  writing_ = std::make_unique<Writing>(std::move(facts), tables, std::move(to), scans_);
  writing_->kept.emplace(*writing_->to, tables, earlier_,
                         Moments{.marks = writing_->facts.marks, .scans = writing_->scans});
  writing_->end = frames_.frames().size();
  return {};
}

std::optional<base::Result<>> Ring::proceed() {
  Writing& now = *writing_;
  base::Result<> written;
  if (now.next < now.end) {
    is_damaged_ |= !read(frames_.frames()[now.next++], now.tables, [&](const model::EventBatch& batch) {
      if (written) written = now.kept->add(batch);
    });
    if (written && !is_damaged_) return std::nullopt;
  }
  const std::unique_ptr<Writing> ended = std::move(writing_);
  if (is_damaged_) return base::fail("the memory in which the last events are kept is damaged");
  return written ? end(*ended) : written;
}

base::Result<> Ring::complete() {
  for (;;) {
    if (auto written = proceed()) return *std::move(written);
  }
}

base::Result<> Ring::end(Writing& writing) {
  KeptTrace& kept = *writing.kept;
  trace::TraceWriter& to = *writing.to;
  model::Capture& capture = writing.facts.capture;
  HEAPTAP_TRY(kept.end());
  for (const model::BlockName& name : block_names_) {
    if (const model::BlockNumber block = kept.number_of(name.block); block != model::kUnknownBlock)
      to.add_block_name({block, name.name});
  }
  to.add_code_names(code_names_);
  for (const model::ResidentSample& sample : resident_) {
    if (sample.time_ns <= capture.duration_ns) to.add_resident(sample);
  }
  capture.event_count = kept.event_count();
  if (earlier_.event_count() != 0) {
    capture.gaps |= model::kGapDroppedPast;
    capture.notes.push_back({.kind = model::NoteKind::kOnlyTheLast,
                             .numbers = {earlier_.until_ns(), earlier_.gone_allocations(), earlier_.gone_bytes()}});
  }
  return to.finish(capture, writing.tables);
}

}  // namespace heaptap::ring
