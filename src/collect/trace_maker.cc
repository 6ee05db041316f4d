#include "collect/trace_maker.h"

#include <span>

#include "model/capture.h"
#include "trace/table_frames.h"

namespace heaptap::collect {
namespace {

constexpr size_t kBatchEvents = 4096;  // stay in the processor's cache from the log to the frame's columns
constexpr size_t kFrameEvents = 262144;
constexpr uint64_t kMaxBytesTaken = 1024 * 1024;

}  // namespace

TraceMaker::TraceMaker(EventStream& stream, trace::TraceWriter& writer, uint64_t time_resolution_ns, bool from_start)
    : stream_(stream),
      writer_(writer),
      tables_(trace::empty_tables()),
      coder_(stream.tables(), tables_, time_resolution_ns, from_start) {}

uint64_t TraceMaker::take_next() {
  uint64_t bytes = 0;
  bool moves = true;
  do {
    const size_t waiting = raw_.size();
    const uint64_t read = stream_.drain(raw_, false);
    moves = read > 0 || raw_.size() > waiting;
    bytes += read;
    code_events(false);
    // What is unread may wait for a writer that is in the middle of a record: not to be waited for here.
  } while (moves && stream_.state().has_unread && bytes < kMaxBytesTaken);
  return bytes;
}

void TraceMaker::take_all() {
  const uint64_t most_bytes = stream_.most_bytes_left();
  const uint64_t most_rounds = most_bytes / sizeof(wire::Record);
  uint64_t bytes = 0;
  for (uint64_t round = 0; bytes <= most_bytes && round < most_rounds; ++round) {
    const uint64_t read = stream_.drain(raw_, true);
    bytes += read;
    if (read == 0 && stream_.state().is_empty) break;
    code_events(false);
  }
  code_events(true);
}

void TraceMaker::take_tables() {
  stream_.take_modules(tables_.modules);
  stream_.take_threads(tables_.threads);
}

void TraceMaker::code_events(bool last) {
  stream_.take_modules(tables_.modules);  // what they call may go past the hooks
  const StreamState state = stream_.state();
  const ClockScale scale = state.scale();
  if (state.may_repeat_stacks) coder_.expect_doubles();
  coder_.set_incomplete(state.lost_events > 0 || gaps() != 0);
  size_t taken = 0;
  for (size_t now = 1; now > 0; taken += now) {
    const auto rest = std::span(raw_).subspan(taken);
    now = coder_.take(rest, scale, kBatchEvents, last, batch_);
    // What waits for a release that may come doesn't wait for ever, also where nothing else comes.
    if (now == 0 && !rest.empty() && is_overdue(rest.front(), state)) {
      now = coder_.take(rest.first(1), scale, kBatchEvents, true, batch_);
    }
    add_batch();
  }
  raw_.erase(raw_.begin(), raw_.begin() + static_cast<ptrdiff_t>(taken));
}

bool TraceMaker::is_overdue(const wire::RawEvent& event, const StreamState& state) {
  constexpr uint64_t kOverdueTicks = 1'000'000'000;  // a stream is waited for by much less
  // Not the time now: where this side is behind, the release may be in what it has yet to read.
  return state.complete_until > event.time && state.complete_until - event.time > kOverdueTicks;
}

void TraceMaker::add_batch() {
  if (batch_.events.empty()) return;
  event_count_ += batch_.events.size();
  if (written_) writer_.add(batch_, tables_);
  if (follower_ != nullptr) follower_->on_batch(batch_, tables_);
  batch_.events.clear();
  batch_.time_marks.clear();
  batch_.bad_releases.clear();
  if (writer_.events_pending() >= kFrameEvents) write_frame();
}

uint32_t TraceMaker::gaps() const {
  return noted_gaps_ | stream_.state().gaps | (coder_.missed_releases() > 0 ? model::kGapMissedReleases : 0u);
}

model::Mark TraceMaker::add_mark(model::Mark mark) { return writer_.add_mark(std::move(mark)); }

void TraceMaker::write_frame() {
  take_tables();
  if (written_) written_ = writer_.flush(tables_);
}

void TraceMaker::write_totals(const model::Totals& totals) {
  take_tables();
  if (written_) written_ = writer_.write_totals(totals, tables_);
}

void TraceMaker::write_scan(const model::HeapScan& scan) {
  write_frame();
  if (written_) written_ = writer_.write_scan(scan, tables_);
}

}  // namespace heaptap::collect
