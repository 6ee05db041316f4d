#include "record/ingest/trace_builder.h"

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "capture/stream/drain_rounds.h"
#include "common/frames/table_frames.h"
#include "record/ingest/exit_scans.h"

namespace heaptap::ingest {
namespace {

constexpr size_t kBatchEvents = 4096;  // stay in the processor's cache from the log to the frame's columns
constexpr size_t kFrameEvents = 262144;
constexpr uint64_t kMaxBytesTaken = 1024 * 1024;
constexpr uint64_t kMaxBytesShared = 4 * kMaxBytesTaken;  // with two threads: the first drain is beside nothing
// Events of a drain beside which the next one is worth another thread.
constexpr size_t kWorthSharing = 8192;
// Events that wait for a release which may come: a limit for agents that claim to hold back more.
constexpr size_t kMaxWaiting = size_t{1} << 22;

}  // namespace

TraceBuilder::TraceBuilder(stream::EventStream& stream, trace::TraceWriter& writer, uint64_t time_resolution_ns,
                           bool from_start)
    : stream_(stream),
      writer_(writer),
      tables_(frames::empty_tables()),
      coder_(stream.tables(), tables_, time_resolution_ns, from_start) {}

uint64_t TraceBuilder::take_next() {
  uint64_t bytes = 0;
  bool moves = true;
  do {
    const size_t waiting = raw_.size();
    const uint64_t read = stream_.drain(raw_, false);
    moves = read > 0 || raw_.size() > waiting;
    bytes += read;
    if (!stream_.state().has_unread) events_behind_ = 0;
    if (is_worth_sharing(raw_.size() - waiting)) {
      bytes += code_and_drain(kMaxBytesShared);
    } else {
      code_events(false);
    }
    // Unread events may wait for a writer in the middle of a record, which isn't waited for here.
  } while (moves && stream_.state().has_unread && bytes < kMaxBytesTaken);
  return bytes;
}

bool TraceBuilder::is_worth_sharing(size_t drained) const {
  return drains_beside_coding_ && drained >= kWorthSharing && is_behind() && writer_.frame_pool() != nullptr &&
         writer_.frame_pool()->thread_count() > 0;
}

// Codes what was drained while another thread makes the next drain, which would come next anyway: what is coded, and in
// which pieces, is the same. That thread has the stream as long as it drains, so all that the coder needs of it is taken
// before.
uint64_t TraceBuilder::code_and_drain(uint64_t max_bytes) {
  trace::FramePool& pool = *writer_.frame_pool();
  uint64_t bytes = 0;
  for (size_t drained = raw_.size(); bytes < max_bytes && stream_.state().has_unread && is_worth_sharing(drained);) {
    take_tables();
    const stream::StreamState state = look_at_stream();
    uint64_t read = 0;
    {
      const Lent lent(*this, pool, [this, &read] { read = stream_.drain(ahead_, false); });
      code(state, false);
      pool.join();
    }
    bytes += read;
    drained = ahead_.size();
    if (raw_.empty()) {
      std::swap(raw_, ahead_);
    } else {
      raw_.insert(raw_.end(), ahead_.begin(), ahead_.end());
    }
    ahead_.clear();
    if (!stream_.state().has_unread) events_behind_ = 0;
  }
  code_events(false);
  return bytes;
}

TraceBuilder::Lent::Lent(TraceBuilder& builder, trace::FramePool& pool, std::function<void()> drain)
    : builder_(builder), pool_(pool) {
  builder_.is_stream_lent_ = true;
  pool_.start(std::move(drain));
}

TraceBuilder::Lent::~Lent() {
  builder_.is_stream_lent_ = false;
  try {
    pool_.join();
  } catch (...) {  // NOLINT(bugprone-empty-catch): coding failed before
  }
}

void TraceBuilder::take_all() {
  stream::take_to_the_end(stream_, [this] {
    const uint64_t read = stream_.drain(raw_, true);
    if (read > 0 || !stream_.state().is_empty) code_events(false);
    return read;
  });
  code_events(true);
}

void TraceBuilder::take_tables() {
  if (is_stream_lent_) return;  // they were taken before
  stream_.take_modules(tables_.modules);
  stream_.take_threads(tables_.threads);
}

void TraceBuilder::code_events(bool last) { code(look_at_stream(), last); }

// All that coding needs of the stream but texts.
stream::StreamState TraceBuilder::look_at_stream() {
  stream_.take_modules(tables_.modules);  // calls from it may bypass the hooks
  const stream::StreamState state = stream_.state();
  if (state.may_repeat_stacks) coder_.expect_doubles();
  coder_.set_incomplete(!sees_all_releases());
  if ((gaps() & model::kGapUnseenWhileOff) != 0) coder_.expect_unseen_blocks();
  return state;
}

void TraceBuilder::code(const stream::StreamState& state, bool last) {
  const stream::ClockScale scale = state.scale();
  size_t taken = 0;
  for (size_t now = 1; now > 0; taken += now) {
    const auto rest = std::span(raw_).subspan(taken);
    now = coder_.take(rest, scale, kBatchEvents, last, batch_);
    const std::optional<ProgramNote> program_note = coder_.program_note();
    // Events that wait for a release are coded after a time, even if nothing else comes.
    if (now == 0 && !rest.empty() && (rest.size() > kMaxWaiting || is_overdue(rest.front(), state))) {
      now = coder_.take(rest.first(1), scale, kBatchEvents, true, batch_);
    }
    add_batch();
    if (program_note) take_program_note(*program_note);
  }
  raw_.erase(raw_.begin(), raw_.begin() + static_cast<ptrdiff_t>(taken));
}

// Events before a program note are in the trace or on their way.
void TraceBuilder::take_program_note(const ProgramNote& program_note) {
  if (is_stream_lent_) writer_.frame_pool()->join();
  std::string text = stream_.take_text(program_note.text);
  const auto mark = [&](model::MarkKind kind, std::string name) {
    add_mark({.number = 0,
              .kind = kind,
              .name = std::move(name),
              .time_ns = program_note.time_ns,
              .thread = program_note.thread});
  };
  switch (program_note.kind) {
    case wire::NoteKind::kMark:
      return mark(model::MarkKind::kNamed, std::move(text));
    case wire::NoteKind::kSwitchedOff:
      note_gap(model::kGapUnseenWhileOff);
      return mark(model::MarkKind::kStopped, "stop");
    case wire::NoteKind::kSwitchedOn:
      return mark(model::MarkKind::kStarted, "start");
    case wire::NoteKind::kBlockName:
      return add_block_name({program_note.block, std::move(text)});
    default:
      return;
  }
}

void TraceBuilder::add_block_name(model::BlockName name) {
  if (name.block == model::kUnknownBlock) return;
  tell_block_name_ ? tell_block_name_(std::move(name)) : writer_.add_block_name(std::move(name));
}

bool TraceBuilder::is_overdue(const wire::RawEvent& event, const stream::StreamState& state) {
  constexpr uint64_t kOverdueTicks = 1'000'000'000;  // streams are waited for much shorter
  // Not the current time: if this side is behind, the release may be in events that it hasn't read yet.
  return state.complete_until > event.time && state.complete_until - event.time > kOverdueTicks;
}

void TraceBuilder::add_batch() {
  if (batch_.events.empty()) return;
  event_count_ += batch_.events.size();
  events_behind_ += batch_.events.size();
  if (follower_ != nullptr) follower_->on_batch(batch_, tables_);
  writer_.set_behind(is_behind());
  if (written_) writer_.take(batch_, tables_);
  batch_.clear();
  if (writer_.events_pending() >= kFrameEvents) end_frame();
}

void TraceBuilder::note_missed_releases(model::Capture& capture) const {
  const uint64_t missed = coder_.missed_releases();
  if (missed > 0) capture.notes.push_back({.kind = model::NoteKind::kReleasesNotSeen, .numbers = {missed}});
}

void TraceBuilder::add_crash(const model::Crash& crash) {
  crash_ = {.stack = coder_.add_stack(crash.codes, crash.end), .thread = 0};
  crash_signal_ = crash.signal;
  for (const model::Thread& thread : tables_.threads) {
    if (thread.kernel_id == crash.thread_id) crash_->thread = thread.number;  // of several the last one
  }
}

void TraceBuilder::tell_crash(model::Capture& capture) const {
  if (capture.exit.signal == crash_signal_) capture.crash = crash_;
}

bool TraceBuilder::sees_all_releases() const {
  return stream_.state().lost_events == 0 && (gaps() & ~uint32_t{model::kGapUnseenWhileOff}) == 0;
}

uint32_t TraceBuilder::gaps() const {
  return noted_gaps_ | stream_.state().gaps | (coder_.missed_releases() > 0 ? model::kGapMissedReleases : 0u);
}

// A trace has no addresses of blocks that live and die within a frame: where one ends, the place of all live blocks is known.
model::Mark TraceBuilder::add_mark(model::Mark mark) {
  constexpr size_t kMaxFrameEnds = 1024;  // small frames take more space
  if (marks_.size() < kMaxFrameEnds) write_frame();
  return marks_.emplace_back(writer_.add_mark(std::move(mark)));
}

void TraceBuilder::begin_behind(std::vector<model::Mark> earlier) {
  marks_ = std::move(earlier);
  writer_.begin_behind(marks_);
}

void TraceBuilder::write_frame() {
  take_tables();
  if (written_) written_ = writer_.flush(tables_);
}

// As much as a frame without a pause: other threads are worth their while.
bool TraceBuilder::is_behind() const { return events_behind_ > kFrameEvents; }

void TraceBuilder::end_frame() {
  take_tables();
  if (written_) written_ = writer_.end_frame(tables_);
}

void TraceBuilder::write_totals(const model::Totals& totals) {
  take_tables();
  if (written_) written_ = writer_.write_totals(totals, tables_);
}

uint32_t TraceBuilder::write_scan(model::HeapScan scan) {
  write_frame();
  if (scan.reason == model::ScanReason::kExitBegins) {
    scan.events_before = event_count_;
    exit_start_ = std::move(scan);
    return 0;
  }
  const auto write = [this](model::HeapScan& each) {
    each.number = ++scan_count_;
    if (written_) written_ = writer_.write_scan(each, tables_);
  };
  if (scan.reason == model::ScanReason::kEnd) {
    auto start = std::exchange(exit_start_, std::nullopt);
    if (start && loses_holders(*start, scan)) write(*start);
  }
  write(scan);
  return scan.number;
}

std::vector<model::Mark> as_earlier(const std::vector<model::Mark>& all) {
  constexpr size_t kMaxEarlier = 1000;
  const size_t skipped = all.size() > kMaxEarlier ? all.size() - kMaxEarlier : 0;
  std::vector<model::Mark> marks(all.begin() + static_cast<std::ptrdiff_t>(skipped), all.end());
  for (model::Mark& mark : marks) {
    mark = {.number = mark.number, .kind = model::MarkKind::kEarlier, .name = std::move(mark.name)};
  }
  return marks;
}

}  // namespace heaptap::ingest
