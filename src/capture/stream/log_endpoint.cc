#include "capture/stream/log_endpoint.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "capture/stream/exec_notes.h"
#include "capture/stream/missing_scan.h"
#include "common/base/clock.h"
#include "common/base/served_files.h"
#include "common/model/signal_number.h"

namespace heaptap::stream {
namespace {

using model::NoteKind;

// A process's notice before its end. It may contain anything.
model::ExitStatus exit_said_by(const wire::ExitNotice& notice) {
  model::ExitStatus exit;
  if (notice.kind == wire::ExitKind::kSignal) {
    if (notice.signal >= 1 && notice.signal <= model::kMaxSignal) exit.signal = static_cast<int>(notice.signal);
  } else if ((notice.status & wire::kStatusKnown) != 0) {
    exit.code = static_cast<int>(notice.status & 0xff);
  }
  return exit;
}

// Whether there are stacks of three frames and more without their outermost ones. Shorter ones are of releases: the caller, and
// the called function where the tracer notes it.
bool cuts_stacks(const log::LogParts& log) {
  const size_t count = std::min<size_t>(log.header.node_count.load(std::memory_order_relaxed), log.nodes.size());
  const auto caller_of = [&](uint32_t number) {
    return number < count ? wire::node_parent(log.nodes[number].load(std::memory_order_relaxed)) : uint32_t{0};
  };
  return std::ranges::any_of(log.nodes.first(count), [&](const wire::StackNode& node) {
    const uint32_t outer = caller_of(caller_of(wire::node_parent(node.load(std::memory_order_relaxed))));
    return outer == static_cast<uint32_t>(wire::StackEnd::kDepthLimit);
  });
}

// Whether the memory outlives its process: in forked children. Who reads about a process in /proc may keep its memory for a moment.
bool stays_mapped(const log::LogMemory& log) {
  constexpr std::chrono::milliseconds kBetween{2};
  constexpr int kLooks = 10;
  for (int looks = 1; log.is_mapped_elsewhere(); ++looks) {
    if (looks == kLooks) return true;
    std::this_thread::sleep_for(kBetween);
  }
  return false;
}

model::Note other_names_note(const PastHooks& past) {
  constexpr size_t kMaxShownNames = 3;
  const std::vector<std::string>& called = past.called();
  const size_t shown = std::min(called.size(), kMaxShownNames);
  std::string names;
  for (size_t i = 0; i < shown; ++i) names += (i == 0 ? "" : ", ") + called[i];
  return {.kind = NoteKind::kOtherNamesCalled,
          .numbers = {called.size() - shown},
          .module = past.allocator(),
          .name = std::move(names)};
}

// Their number, and then the number by wire::UnplacedReason.
void add_unplaced_frames(model::Capture& capture, const wire::LogHeader& log) {
  std::vector<uint64_t> numbers{0};
  for (const wire::Atomic64& count : log.unplaced_frames) {
    numbers.push_back(count.load(std::memory_order_relaxed));
    numbers[0] += numbers.back();
  }
  if (numbers[0] > 0) add_note(capture, {.kind = NoteKind::kFramesNotPlaced, .numbers = std::move(numbers)});
}

}  // namespace

base::Result<std::unique_ptr<LogEndpoint>> LogEndpoint::create(const log::LogOptions& options,
                                                               const model::Capture& capture) {
  auto log = log::LogMemory::create(options);
  if (!log) return std::unexpected(std::move(log).error());
  return std::unique_ptr<LogEndpoint>(new LogEndpoint(std::move(*log), capture));
}

LogEndpoint::LogEndpoint(std::unique_ptr<log::LogMemory> log, const model::Capture& capture)
    : log_(std::move(log)),
      is_mapped_there_(capture.via == "agent"),
      sampler_(static_cast<pid_t>(capture.pid)),
      room_(static_cast<pid_t>(capture.pid), uint64_t{log_->parts().start_chunks} * wire::kChunkBytes),
      totals_(log_->parts()),
      stream_(log_->parts(), totals_,
              {.process = static_cast<pid_t>(capture.pid),
               .has_agent = capture.via == "agent",
               .executable = capture.executable,
               .word_bytes = capture.word_bytes}),
      start_monotonic_ns_(base::clock_ns(CLOCK_MONOTONIC)) {
  stream_.reader().borrow_from(room_, log::ChunkMemory(log_->parts().chunks, log_->is_sparse()));
}

uint64_t LogEndpoint::elapsed_ns() const { return base::clock_ns(CLOCK_MONOTONIC) - start_monotonic_ns_; }

void LogEndpoint::turn_to(wire::RecordingSwitch position) {
  log_->header().recording_switch.store(static_cast<uint32_t>(position), std::memory_order_relaxed);
}

bool LogEndpoint::is_on() const { return !wire::is_switched_off(log_->header()); }

uint64_t LogEndpoint::used_bytes() const {
  return uint64_t{log_->header().used_chunks.load(std::memory_order_relaxed)} * wire::kChunkBytes;
}

uint64_t LogEndpoint::limit_bytes() const { return uint64_t{stream_.reader().chunk_limit()} * wire::kChunkBytes; }

std::optional<model::ResidentSample> LogEndpoint::sample_resident_when_due() {
  return sampler_.is_due(base::clock_ns(CLOCK_MONOTONIC)) ? sample_resident() : std::nullopt;
}

std::optional<model::ResidentSample> LogEndpoint::sample_resident() {
  auto sample = sampler_.take(base::clock_ns(CLOCK_MONOTONIC));
  if (!sample) return std::nullopt;
  sample->time_ns = stream_.now_ns();
  if (!is_mapped_there_) {
    sample->log_bytes = 0;
  } else if (const auto bytes = log_->allocated_bytes()) {
    sample->log_bytes = std::min(*bytes, sample->shared_bytes);
  }
  return sample;
}

void LogEndpoint::fill_end(model::Capture& capture, const model::ExitStatus& exit, const Seen& seen) const {
  capture.ended = true;
  if (capture.via == "agent") {  // what it told of programs that were executed
    const wire::LogHeader& log = log_->header();
    capture.executed = capture.executed || has_executed(log);
    for (model::Note& each : exec_notes(log)) add_note(capture, std::move(each));
  }
  const bool may_be_outlived = !capture.detached && (log_->parts().flags & wire::kFollowFork) == 0;
  const bool is_outlived = may_be_outlived && stays_mapped(*log_);
  if (auto unfollowed = unfollowed_note(log_->header(), is_outlived)) add_note(capture, *std::move(unfollowed));
  const bool is_known = exit.code || exit.signal || capture.executed || capture.detached;
  capture.exit = is_known ? exit : seen.end ? exit_said_by(*seen.end) : model::ExitStatus{};
  capture.duration_ns = elapsed_ns();
  capture.ticks_per_second = stream_.state().scale().ticks_per_second();
  capture.lost_events = lost_events();
  capture.paused_by_tracer_ns = paused_by_tracer_ns_;
  capture.log_bytes_used = uint64_t{stream_.reader().max_chunks_used()} * wire::kChunkBytes;
  capture.collector_cpu_ns = base::clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  capture.collector_peak_rss_bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

void LogEndpoint::note_unseen(model::Capture& capture, const Seen& seen) const {
  for (const base::SilentFile& file : base::ServedFiles::of_process().given_up()) {
    add_note(capture, {.kind = NoteKind::kFileGivenUp, .module = file.path, .name = file.type});
  }
  if (capture.via == "agent") {
    note_what_no_agent_saw(capture, seen);
  } else if (wants_scan_at_end() && seen.scans == 0) {
    add_note(capture, {kind_of_missing_traced_scan(capture.notes)});
  }
}

void LogEndpoint::note_what_no_agent_saw(model::Capture& capture, const Seen& seen) const {
  const wire::LogHeader& log = log_->header();
  const auto state = static_cast<wire::AgentState>(log.agent_state.load(std::memory_order_acquire));
  if (state == wire::AgentState::kNotConnected) {
    const bool asked = model::has_note(capture.notes, NoteKind::kNotAnswered);
    if (!asked) add_note(capture, {NoteKind::kAgentNotLoaded});
  } else if (const OwnAllocator own = stream_.own_allocator(); own != OwnAllocator::kNone) {
    const uint64_t is_gos = own == OwnAllocator::kGo ? 1 : 0;
    add_note(capture, {.kind = NoteKind::kOwnAllocator, .numbers = {is_gos}, .module = capture.executable});
  }
  const PastHooks& past = stream_.past_hooks();
  if (!past.inner_caller().empty())
    add_note(capture, {.kind = NoteKind::kCallsPastHooks, .module = past.inner_caller()});
  if (!past.called().empty()) add_note(capture, other_names_note(past));
  if (log.own_scopes.load(std::memory_order_relaxed) != 0) add_note(capture, {NoteKind::kCallsPastHooks});
  if (const uint32_t count = log.children_unreached.load(std::memory_order_relaxed); count > 0) {
    add_note(capture, {.kind = NoteKind::kChildrenUnreached, .numbers = {count}});
  }
  const bool wanted_scan = state != wire::AgentState::kNotConnected && wants_scan_at_end();
  if (wanted_scan && !seen.end && !capture.detached) {
    add_note(capture, {capture.executed ? NoteKind::kNoScanAfterExec : NoteKind::kNoScanAtEnd});
  }
}

model::Note LogEndpoint::cause_of_losses(const model::Capture& capture) const {
  const uint64_t used = uint64_t{stream_.reader().usable_chunks()} * wire::kChunkBytes / 1024;
  const uint64_t most = limit_bytes() / 1024;
  const log::LogParts& log = log_->parts();
  if (log.writers_wait && log.header.waits_in_vain.load(std::memory_order_relaxed) > 0) {
    return {.kind = NoteKind::kCollectorStalled, .numbers = {log.overflow_wait_ms / 1000, used, most}};
  }
  if (const auto shortage = room_.shortage(capture.lost_events)) {
    return {
        .kind = NoteKind::kLogWithoutRoom, .numbers = {used, shortage->limit_bytes / 1024}, .name = shortage->group};
  }
  if (!log.writers_wait) return {.kind = NoteKind::kLogFull, .numbers = {used}};
  return {capture.via == "ptrace" ? NoteKind::kNoRoomForTracedCall : NoteKind::kNoRoomForThread};
}

void LogEndpoint::note_no_room(model::Capture& capture) const {
  const wire::LogHeader& log = log_->header();
  if (capture.lost_events > 0) add_note(capture, cause_of_losses(capture));
  const auto add_counted = [&capture](NoteKind kind, uint64_t count) {
    if (count > 0) add_note(capture, {.kind = kind, .numbers = {count}});
  };
  add_counted(NoteKind::kLogDamaged, stream_.reader().damaged_streams());
  add_counted(NoteKind::kModulesLeftOut, log.module_overflow.load(std::memory_order_relaxed));
  if (log_->parts().depth_limit == 0 && cuts_stacks(log_->parts())) {
    add_note(capture,
             {.kind = NoteKind::kStacksCut, .numbers = {wire::kWholeFrames, wire::kMinOfDeeper, wire::kMaxOfDeeper}});
  }
  if (log.was_without_node.load(std::memory_order_relaxed) != 0) add_note(capture, {NoteKind::kStackTableFull});
  if (const uint32_t version = log.unread_interpreter.load(std::memory_order_relaxed); version != 0) {
    add_note(capture, {.kind = NoteKind::kInterpreterNotRead, .numbers = {version >> 24, version >> 16 & 0xff}});
  }
  add_unplaced_frames(capture, log);
  add_counted(NoteKind::kLabelsNotKept, log.unkept_labels.load(std::memory_order_relaxed));
}

void add_note(model::Capture& capture, model::Note note) {
  std::vector<model::Note>& notes = capture.notes;
  if (std::ranges::find(notes, note) == notes.end()) notes.push_back(std::move(note));
}

}  // namespace heaptap::stream
