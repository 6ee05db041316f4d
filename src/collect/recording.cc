#include "collect/recording.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "base/clock.h"
#include "collect/exec_notes.h"
#include "process/memory_room.h"

namespace heaptap::collect {
namespace {

using model::NoteKind;

constexpr uint64_t kLongestUnwrittenNs = 1'000'000'000;  // so that a collector that dies takes little with it
constexpr uint64_t kTimeResolutionNs = 100'000;

// What a process says of its end before it ends. It may say anything.
model::ExitStatus exit_said_by(const wire::ExitNotice& notice) {
  constexpr uint32_t kMaxSignal = 64;
  model::ExitStatus exit;
  if (notice.kind == wire::ExitKind::kSignal) {
    if (notice.signal >= 1 && notice.signal <= kMaxSignal) exit.signal = static_cast<int>(notice.signal);
  } else if ((notice.status & wire::kStatusKnown) != 0) {
    exit.code = static_cast<int>(notice.status & 0xff);
  }
  return exit;
}

}  // namespace

base::Result<std::unique_ptr<Recording>> Recording::create(const log::LogOptions& options, model::Capture capture,
                                                           const std::string& path, bool overwrite) {
  auto log = log::LogMemory::create(options);
  if (!log) return std::unexpected(std::move(log).error());
  auto writer = trace::TraceWriter::create(path, overwrite);
  if (!writer) return std::unexpected(std::move(writer).error());
  capture.time_resolution_ns = kTimeResolutionNs;
  capture.start_unix_ns = base::clock_ns(CLOCK_REALTIME);
  HEAPTAP_TRY((*writer)->begin(capture));
  return std::unique_ptr<Recording>(new Recording(std::move(*log), std::move(*writer), std::move(capture)));
}

Recording::Recording(std::unique_ptr<log::LogMemory> log, std::unique_ptr<trace::TraceWriter> writer,
                     model::Capture capture)
    : log_(std::move(log)),
      writer_(std::move(writer)),
      capture_(std::move(capture)),
      totals_(log_->parts()),
      stream_(log_->parts(), totals_,
              {.process = static_cast<pid_t>(capture_.pid), .has_agent = capture_.via == "agent"}),
      maker_(stream_, *writer_, kTimeResolutionNs, capture_.from_start),
      start_monotonic_ns_(base::clock_ns(CLOCK_MONOTONIC)) {
  stream_.reader().set_may_grow([process = static_cast<pid_t>(capture_.pid)](uint64_t bytes) {
    constexpr uint64_t kShare = 4;  // of what is left, for the log
    return bytes <= process::free_memory_for(process) / kShare;
  });
  if (totals_.is_on()) maker_.coder().expect_doubles();
}

uint64_t Recording::poll() {
  const uint64_t bytes = maker_.take_next();
  const uint64_t now = base::clock_ns(CLOCK_MONOTONIC);
  if (now - last_write_ns_ > kLongestUnwrittenNs) {
    maker_.write_frame();
    last_write_ns_ = now;
  }
  if (totals_.is_on() && now >= next_totals_ns_) {
    if (next_totals_ns_ != 0) write_totals();
    // What takes long is done less often.
    constexpr uint64_t kRest = 50;
    const uint64_t end = base::clock_ns(CLOCK_MONOTONIC);
    next_totals_ns_ = end + std::max(kLongestUnwrittenNs, (end - now) * kRest);
  }
  return bytes;
}

model::Mark Recording::mark(model::MarkKind kind, std::string name) {
  take_what_is_there();
  model::Mark mark{.number = 0, .kind = kind, .name = std::move(name), .time_ns = stream_.now_ns()};
  return marks_.emplace_back(maker_.add_mark(std::move(mark)));
}

// A gap begins before the switch is turned, and ends after: what lies between the marks is all that may be missing.
void Recording::set_on(bool on) {
  if (on == is_on()) return;
  const auto turn = [this](wire::RecordingSwitch to) {
    log_->header().recording_switch.store(static_cast<uint32_t>(to), std::memory_order_relaxed);
  };
  if (on) {
    turn(wire::RecordingSwitch::kOn);
    mark(model::MarkKind::kStarted, "start");
  } else {
    mark(model::MarkKind::kStopped, "stop");
    maker_.note_gap(model::kGapSwitchedOff);
    turn(wire::RecordingSwitch::kOff);
  }
}

bool Recording::is_on() const { return !wire::is_switched_off(log_->header()); }

void Recording::set_depth(uint32_t frames) {
  take_what_is_there();
  maker_.coder().set_depth(frames);
}

void Recording::let_go() {
  log_->header().recording_switch.store(static_cast<uint32_t>(wire::RecordingSwitch::kLetGo),
                                        std::memory_order_relaxed);
}

// A bounded part of it, where the target is faster than the collector.
void Recording::take_what_is_there() {
  constexpr unsigned kMaxRounds = 64;
  unsigned idle_rounds = 0;
  // What is in the log becomes known to be next in order with the drain behind the one that saw it.
  constexpr unsigned kIdleRounds = 3;
  for (unsigned round = 0; round < kMaxRounds && idle_rounds < kIdleRounds; ++round) {
    idle_rounds = maker_.take_next() == 0 ? idle_rounds + 1 : 0;
    if (idle_rounds > 0 && stream_.state().is_empty) break;
  }
}

base::Result<> Recording::write_up_to_now() {
  take_what_is_there();
  maker_.write_frame();
  last_write_ns_ = base::clock_ns(CLOCK_MONOTONIC);
  if (totals_.is_on()) write_totals();
  return maker_.written();
}

RecordingFigures Recording::figures() const {
  return {.time_ns = stream_.now_ns(),
          .events = maker_.event_count(),
          .lost_events = stream_.reader().lost_events(),
          .log_used_bytes = uint64_t{log_->header().used_chunks.load(std::memory_order_relaxed)} * wire::kChunkBytes,
          .log_limit_bytes = uint64_t{stream_.reader().chunk_limit()} * wire::kChunkBytes,
          .trace_bytes = writer_->bytes_written(),
          .marks = static_cast<uint32_t>(marks_.size()),
          .scans = scan_count_};
}

base::UniqueFd Recording::open_trace() const { return writer_->open_for_reading(); }

base::Result<> Recording::finish(const model::ExitStatus& exit) {
  maker_.take_all();
  maker_.write_frame();
  if (totals_.is_on()) write_totals();
  fill_capture(exit);
  if (!maker_.written()) return maker_.written();
  return writer_->finish(capture_, maker_.tables());
}

base::Result<uint32_t> Recording::scan(const ScanAccess& access, const std::optional<wire::ExitNotice>& ending) {
  end_was_seen_ = end_was_seen_ || ending.has_value();
  poll();  // so that little is left to be done while it is stopped
  auto scan = look_at_memory(access, ending);
  if (!scan) {
    if (ending) capture_.notes.push_back(model::failure_note(scan.error().message));
    return std::unexpected(std::move(scan).error());
  }
  scan->number = ++scan_count_;
  scan->reason = ending ? model::ScanReason::kEnd : model::ScanReason::kAsked;
  if (ending) said_exit_ = exit_said_by(*ending);
  maker_.write_scan(*scan);
  if (!maker_.written()) return std::unexpected(maker_.written().error());
  return scan->number;
}

base::Result<model::HeapScan> Recording::look_at_memory(const ScanAccess& access,
                                                        const std::optional<wire::ExitNotice>& ending) {
  const ScanTarget target{.access = access,
                          .ending = ending,
                          .log = log_->parts(),
                          .heap_is_complete = capture_.from_start && saw_all(),
                          .tells_other_numbers = stream_.tells_other_numbers()};
  auto look = ProcessScan::stop(target);  // from here on it is stopped
  if (!look) return std::unexpected(std::move(look).error());
  maker_.take_all();
  maker_.take_tables();
  const uint64_t time_ns = stream_.now_ns();
  look->collect(recorded());
  HEAPTAP_TRY(look->let_go());  // it goes on, or ends
  model::HeapScan scan = look->resolve();
  scan.time_ns = time_ns;
  return scan;
}

// What is known of the process by now.
Recorded Recording::recorded() const {
  const EventCoder& coder = maker_.coder();
  Recorded recorded{.saw_all_releases = saw_all(), .blocks = {}, .mapped = coder.mapped(), .tables = maker_.tables()};
  coder.blocks().for_each_live([&](uint64_t address, const BlockMap::Block& block) {
    constexpr uint64_t kMaxBytes = uint64_t{1} << 47;  // no process has more: its log was overwritten
    if (block.size_bytes > kMaxBytes) return;
    recorded.blocks.push_back({address, block.size_bytes, block.number, block.allocated_at, 0});
  });
  return recorded;
}

bool Recording::saw_all() const { return stream_.reader().lost_events() == 0 && maker_.gaps() == 0; }

// What the target keeps, as it is now: the trace's later totals take the place of earlier ones.
void Recording::write_totals() {
  model::Totals totals = totals_.read(maker_.coder(), capture_.from_start);
  totals.time_ns = base::clock_ns(CLOCK_MONOTONIC) - start_monotonic_ns_;
  maker_.write_totals(totals);
  last_totals_ = std::move(totals);
}

void Recording::fill_capture(const model::ExitStatus& exit) {
  capture_.ended = true;
  if (capture_.via == "agent") note_execs();
  const bool is_known = exit.code || exit.signal || capture_.executed || capture_.detached;
  capture_.exit = is_known ? exit : said_exit_;
  capture_.duration_ns = base::clock_ns(CLOCK_MONOTONIC) - start_monotonic_ns_;
  capture_.ticks_per_second = stream_.state().scale().ticks_per_second();
  capture_.event_count = maker_.event_count();
  capture_.lost_events = stream_.reader().lost_events() + capture_.event_count - writer_->events_written();
  capture_.log_bytes_used = uint64_t{stream_.reader().most_chunks_used()} * wire::kChunkBytes;
  capture_.collector_cpu_ns = base::clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  capture_.collector_peak_rss_bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  capture_.gaps = maker_.gaps();
  note_what_was_not_seen();
}

// What the agent told of programs that were executed.
void Recording::note_execs() {
  const wire::LogHeader& log = log_->header();
  capture_.executed = capture_.executed || has_executed(log);
  for (model::Note& each : exec_notes(log)) note(std::move(each));
}

void Recording::note(model::Note note) {
  std::vector<model::Note>& notes = capture_.notes;
  if (std::ranges::find(notes, note) == notes.end()) notes.push_back(std::move(note));
}

model::Note Recording::cause_of_losses() const {
  const uint64_t used = uint64_t{stream_.reader().usable_chunks()} * wire::kChunkBytes / 1024;
  const uint64_t most = uint64_t{stream_.reader().chunk_limit()} * wire::kChunkBytes / 1024;
  const log::LogParts& log = log_->parts();
  if (!log.writers_wait) return {.kind = NoteKind::kLogFull, .numbers = {used}};
  if (log.header.waits_in_vain.load(std::memory_order_relaxed) > 0) {
    return {.kind = NoteKind::kCollectorStalled, .numbers = {log.overflow_wait_ms / 1000, used, most}};
  }
  return {capture_.via == "ptrace" ? NoteKind::kNoRoomForTracedCall : NoteKind::kNoRoomForThread};
}

// Of a log that an agent in the program writes.
void Recording::note_what_no_agent_saw() {
  const wire::LogHeader& log = log_->header();
  const auto state = static_cast<wire::AgentState>(log.agent_state.load(std::memory_order_acquire));
  if (state == wire::AgentState::kNotConnected) {
    note({NoteKind::kAgentNotLoaded});
  } else if (capture_.event_count == 0 && last_totals_.sites.empty()) {
    note({NoteKind::kNoCallSeen});
  }
  if (const uint32_t count = log.children_unreached.load(std::memory_order_relaxed); count > 0) {
    note({.kind = NoteKind::kChildrenUnreached, .numbers = {count}});
  }
  const bool wanted_scan = state != wire::AgentState::kNotConnected && (log_->parts().flags & wire::kScanAtEnd) != 0;
  if (wanted_scan && !end_was_seen_) {
    note({capture_.executed ? NoteKind::kNoScanAfterExec : NoteKind::kNoScanAtEnd});
  }
}

void Recording::note_what_was_not_seen() {
  const wire::LogHeader& log = log_->header();
  std::vector<model::Note>& notes = capture_.notes;
  if (capture_.via == "agent") {
    note_what_no_agent_saw();
  } else if ((log_->parts().flags & wire::kScanAtEnd) != 0 && scan_count_ == 0) {
    note({NoteKind::kNoTracedScanAtEnd});
  }
  if (const uint64_t missed = maker_.coder().missed_releases(); missed > 0) {
    notes.push_back({.kind = NoteKind::kReleasesNotSeen, .numbers = {missed}});
  }
  if (totals_.is_on()) std::ranges::move(totals_.notes(last_totals_), std::back_inserter(notes));
  if (capture_.lost_events > 0) note(cause_of_losses());
  if (const uint64_t damaged = stream_.reader().damaged_streams(); damaged > 0) {
    notes.push_back({.kind = NoteKind::kLogDamaged, .numbers = {damaged}});
  }
  if (const uint32_t count = log.module_overflow.load(std::memory_order_relaxed); count > 0) {
    notes.push_back({.kind = NoteKind::kModulesLeftOut, .numbers = {count}});
  }
  if (log.node_count.load(std::memory_order_relaxed) >= log_->parts().nodes.size()) {
    notes.push_back({NoteKind::kStackTableFull});
  }
}

}  // namespace heaptap::collect
