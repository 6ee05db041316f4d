#include "record/recordings/local_recording.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string_view>

#include "capture/process/memory_room.h"
#include "capture/stream/drain_rounds.h"
#include "capture/stream/module_file.h"
#include "capture/supervision/earlier_blocks.h"
#include "common/base/clock.h"
#include "common/base/small_file.h"
#include "common/base/unique_fd.h"
#include "record/recordings/recorded_blocks.h"

namespace heaptap::recordings {
namespace {

constexpr uint64_t kBetweenFileLooksNs = 60'000'000'000;

// With a ring only its end decides whether there is a file, but that there can be one is known at the start.
base::Result<> check_place(const std::string& path, bool overwrite) {
  if (overwrite) {
    if (base::UniqueFd(open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC))) return {};
    if (errno != ENOENT) {
      return base::fail("can't write the trace to {}: {}; choose another place with -o FILE", path,
                        errno == ELOOP ? "it is a symbolic link" : base::reason_of(errno));
    }
  }
  const auto tried = trace::TraceWriter::create(path, overwrite);
  if (!tried) return std::unexpected(tried.error());
  (void)unlink(path.c_str());
  return {};
}

base::Result<std::unique_ptr<trace::TraceWriter>> create_writer(const RingOptions* ring, const std::string& path,
                                                                bool overwrite) {
  if (ring == nullptr) return trace::TraceWriter::create(path, overwrite);
  HEAPTAP_TRY(check_place(path, overwrite));
  return trace::TraceWriter::create_in_memory(path);
}

// PATH-N.htap: the first that isn't there.
std::string free_path(const std::string& path) {
  constexpr std::string_view kExtension = ".htap";
  const bool has_extension = path.ends_with(kExtension);
  const std::string stem = has_extension ? path.substr(0, path.size() - kExtension.size()) : path;
  for (size_t number = 1;; ++number) {
    std::string chosen = fmt::format("{}-{}{}", stem, number, has_extension ? kExtension : "");
    if (!base::exists(chosen)) return chosen;
  }
}

model::Note whole_pause_note(const base::Error& why) {
  return {.kind = model::NoteKind::kPausedThroughout, .name = why.message};
}

}  // namespace

base::Result<std::unique_ptr<LocalRecording>> LocalRecording::create_with(const SharedMeans& shared,
                                                                          const log::LogOptions& options,
                                                                          model::Capture capture,
                                                                          const std::string& path, bool overwrite) {
  log::LogOptions with_rows = options;
  if (capture.via == "agent") with_rows.late_rows_bytes = kOwnRowsBytes;
  auto log = stream::LogEndpoint::create(with_rows, capture);
  if (!log) return std::unexpected(std::move(log).error());
  auto writer = create_writer(shared.ring, path, overwrite);
  if (!writer) return std::unexpected(std::move(writer).error());
  capture.time_resolution_ns = supervision::kTimeResolutionNs;
  capture.start_unix_ns = base::clock_ns(CLOCK_REALTIME);
  HEAPTAP_TRY((*writer)->begin(capture));
  return std::unique_ptr<LocalRecording>(
      new LocalRecording(std::move(*log), std::move(*writer), std::move(capture), shared, overwrite));
}

LocalRecording::LocalRecording(std::unique_ptr<stream::LogEndpoint> log, std::unique_ptr<trace::TraceWriter> writer,
                               model::Capture capture, const SharedMeans& shared, bool overwrite)
    : log_(std::move(log)),
      writer_(std::move(writer)),
      path_(writer_->path()),
      overwrite_(overwrite),
      capture_(std::move(capture)),
      jit_names_(static_cast<pid_t>(capture_.pid), {.believes_root = true}),
      keeper_(shared.keeper),
      watches_(shared.watches),
      maker_(log_->stream(), *writer_, supervision::kTimeResolutionNs, capture_.from_start),
      ring_options_(shared.ring) {
  if (ring_options_ != nullptr) {
    rules_ = ring_options_->rules;
    ring_.emplace(*writer_, ring_options_->max_bytes, supervision::kTimeResolutionNs);
    maker_.tell_block_names([this](model::BlockName name) { ring_->add(std::move(name)); });
  }
  writer_->share_frames(shared.frames);
  maker_.drain_beside_coding();
  if (log_->totals().is_on()) maker_.coder().expect_doubles();
  if (capture_.via == "agent") rows_.emplace(log_->log().parts(), static_cast<pid_t>(capture_.pid));
}

uint64_t LocalRecording::poll() {
  const uint64_t bytes = maker_.take_next();
  keep_files();
  if (rows_) rows_->serve(maker_.tables().modules);
  jit_names_.proceed();
  add_resident(log_->sample_resident_when_due());
  const uint64_t now = base::clock_ns(CLOCK_MONOTONIC);
  if (now - last_file_look_ns_ > kBetweenFileLooksNs) keep_lost_files();
  if (now - last_write_ns_ > supervision::longest_unwritten_ns()) {
    take_names();
    maker_.write_frame();
    last_write_ns_ = now;
  }
  if (ring_) {
    proceed_with_ring();
    if (!rules_.empty() && now >= next_look_ns_) look_at_rules();
  }
  if (log_->totals().is_on() && now >= next_totals_ns_) {
    if (next_totals_ns_ != 0) write_totals();
    // The longer a step takes, the less often it is done.
    constexpr uint64_t kRest = 50;
    const uint64_t end = base::clock_ns(CLOCK_MONOTONIC);
    next_totals_ns_ = end + std::max(supervision::longest_unwritten_ns(), (end - now) * kRest);
  }
  const bool has_more = ring_ && ring_->is_writing();
  return bytes + (has_more ? 1 : 0);
}

void LocalRecording::add_resident(const std::optional<model::ResidentSample>& sample) {
  if (!sample) return;
  ring_ ? ring_->add(*sample) : maker_.add_resident(*sample);
}

void LocalRecording::look_at_rules() {
  constexpr uint64_t kIntervalNs = 100'000'000;
  const uint64_t now = base::clock_ns(CLOCK_MONOTONIC);
  next_look_ns_ = now + kIntervalNs;
  const uint64_t live_bytes = maker_.coder().blocks().live_bytes();
  for (ring::LiveRule& rule : rules_) {
    if (rule.is_met_first(now, live_bytes)) (void)keep(rule.text());
  }
}

base::Result<> LocalRecording::keep(const std::string& why) {
  constexpr size_t kMaxReasons = 16;
  if (reasons_.size() >= kMaxReasons) return base::fail("its last events are being written for {} others", kMaxReasons);
  reasons_.push_back(why);
  return reasons_.size() == 1 ? begin_next_ring_file() : base::Result<>{};
}

base::Result<> LocalRecording::begin_next_ring_file() {
  auto begun = write_up_to_now();
  if (begun) {
    model::Capture now = capture_;
    now.detached = true;  // the process goes on
    fill(now, {});
    kept_path_ = free_path(path_);
    begun = begin_ring_file(kept_path_, false, now);
  }
  if (!begun) tell_kept(begun);
  return begun;
}

base::Result<> LocalRecording::begin_ring_file(const std::string& path, bool overwrite, const model::Capture& capture) {
  auto file = trace::TraceWriter::create(path, overwrite);
  if (!file) return std::unexpected(std::move(file).error());
  ring_->trim(maker_.tables());  // of the end much may have been taken at once
  return ring_->begin({.capture = capture, .marks = maker_.marks()}, maker_.tables(), *std::move(file));
}

void LocalRecording::tell_kept(const base::Result<>& written) {
  if (ring_options_->tell) ring_options_->tell({capture_, reasons_.front(), kept_path_, ring_->since_ns(), written});
  reasons_.pop_front();
}

// A part at a time, so that the program doesn't wait for room in the log.
void LocalRecording::proceed_with_ring() {
  if (ring_->is_writing()) {
    if (const auto written = ring_->proceed()) tell_kept(*written);
  } else if (!reasons_.empty()) {
    (void)begin_next_ring_file();
  } else {
    ring_->trim(maker_.tables());
  }
}

void LocalRecording::complete_ring_files() {
  while (!reasons_.empty()) {
    if (ring_->is_writing()) {
      tell_kept(ring_->complete());
    } else {
      (void)begin_next_ring_file();
    }
  }
}

// A program that ended well, or executed another one, isn't what a black box is for.
base::Result<> LocalRecording::finish_ring() {
  complete_ring_files();
  const bool is_well = !capture_.detached && (capture_.executed || capture_.exit.code == 0);
  base::Result<> written;
  if (is_well) {
    path_.clear();
  } else {
    written = begin_ring_file(path_, overwrite_, capture_);
    if (written) written = ring_->complete();
  }
  if (ring_options_->tell) ring_options_->tell({capture_, "", path_, ring_->since_ns(), written});
  return written;
}

// As soon as they are known: the process may end at any time.
void LocalRecording::keep_files() {
  const std::vector<model::Module>& modules = maker_.tables().modules;
  for (; keeper_ != nullptr && modules_kept_ < modules.size(); ++modules_kept_) {
    const model::Module& module = modules[modules_kept_];
    if (keeper_->lacks(module)) keep_file(module);
  }
}

void LocalRecording::keep_file(const model::Module& module) {
  base::UniqueFd file = stream::open_module_file(static_cast<pid_t>(capture_.pid), module);
  if (file) keeper_->keep(module, std::move(file));
}

// Of modules that an upgrade has replaced, say: the process still has them mapped. Looked at now and then, and when the process is about to
// end or to be left.
void LocalRecording::keep_lost_files() {
  last_file_look_ns_ = base::clock_ns(CLOCK_MONOTONIC);
  if (keeper_ == nullptr) return;
  for (size_t i = 0; i < modules_kept_; ++i) {
    const model::Module& module = maker_.tables().modules[i];
    if (keeper_->has_lost(module)) keep_file(module);
  }
}

void LocalRecording::detach() {
  keep_lost_files();
  log_->turn_to(wire::RecordingSwitch::kDetached);
}

// Names of JIT-compiled code, which may appear at any time.
void LocalRecording::take_names() {
  const model::Tables& tables = maker_.tables();
  for (; codes_seen_ < tables.codes.size(); ++codes_seen_) {
    jit_names_.seek(static_cast<model::CodeId>(codes_seen_), tables.codes[codes_seen_], tables.modules);
  }
  ring_ ? ring_->add(jit_names_.take()) : writer_->add_code_names(jit_names_.take());
}

void LocalRecording::begin_behind(const std::vector<model::Mark>& earlier) {
  maker_.begin_behind(ingest::as_earlier(earlier));
}

base::Result<model::Mark> LocalRecording::mark(model::MarkKind kind, std::string name) {
  take_what_is_there();
  add_resident(log_->sample_resident());
  model::Mark mark{.number = 0, .kind = kind, .name = std::move(name), .time_ns = log_->stream().now_ns()};
  return maker_.add_mark(std::move(mark));
}

void LocalRecording::begin_off() {
  log_->turn_to(wire::RecordingSwitch::kNotYet);
  (void)mark(model::MarkKind::kStopped, "stop");
  maker_.note_gap(model::kGapUnseenWhileOff);
}

// A gap begins before the switch is turned off, and ends after it is turned on: only events between the marks may be
// missing.
base::Result<> LocalRecording::set_on(bool on) {
  if (on == is_on()) return {};
  if (on) {
    log_->turn_to(wire::RecordingSwitch::kOn);
    (void)mark(model::MarkKind::kStarted, "start");
  } else {
    (void)mark(model::MarkKind::kStopped, "stop");
    maker_.note_gap(model::kGapUnseenWhileOff);
    log_->turn_to(wire::RecordingSwitch::kOff);
  }
  return {};
}

void LocalRecording::set_depth(uint32_t frames) {
  take_what_is_there();
  maker_.coder().set_depth(frames);
}

void LocalRecording::take_what_is_there() {
  stream::take_what_is_there(log_->stream(), [this] { return maker_.take_next(); }, [] { return true; });
}

base::Result<> LocalRecording::write_up_to_now() {
  take_what_is_there();
  return write_what_was_taken();
}

base::Result<> LocalRecording::write_up_to_mark(model::MarkKind kind, std::string name) {
  (void)mark(kind, std::move(name));
  return write_what_was_taken();
}

base::Result<> LocalRecording::write_what_was_taken() {
  take_names();
  jit_names_.catch_up();
  take_names();
  maker_.write_frame();
  last_write_ns_ = base::clock_ns(CLOCK_MONOTONIC);
  if (log_->totals().is_on()) write_totals();
  return maker_.written();
}

supervision::RecordingFigures LocalRecording::figures() const {
  return {.time_ns = log_->stream().now_ns(),
          .events = maker_.event_count(),
          .lost_events = log_->lost_events(),
          .log_used_bytes = log_->used_bytes(),
          .log_limit_bytes = log_->limit_bytes(),
          .trace_bytes = writer_->bytes_written(),
          .marks = static_cast<uint32_t>(maker_.marks().size()),
          .scans = seen_.scans,
          .paused_by_tracer_ns = log_->paused_by_tracer_ns()};
}

base::Result<> LocalRecording::finish(const model::ExitStatus& exit) {
  if (capture_.detached) add_resident(log_->sample_resident());
  maker_.take_all();
  maker_.write_frame();
  if (log_->totals().is_on()) write_totals();
  take_last_names();
  fill(capture_, exit);
  if (!maker_.written()) return maker_.written();
  if (ring_) return finish_ring();
  return writer_->finish(capture_, maker_.tables());
}

base::Result<uint32_t> LocalRecording::scan(const supervision::ScanAccess& access,
                                            const std::optional<wire::ExitNotice>& ending) {
  const bool starts = supervision::is_exit_start(ending);
  keep_files();
  keep_lost_files();
  if (ending && !starts) seen_.end = ending;
  // Without blocks it would find that nothing is lost.
  if (log_->totals().is_on()) {
    return base::fail_as(base::ErrorKind::kUsage,
                         "--aggregate doesn't keep single blocks, which a leak scan looks for: record without it");
  }
  if (capture_.sample_interval != 0) {
    return base::fail_as(base::ErrorKind::kUsage,
                         "--sample records some of the blocks, and a leak scan needs all of them: record without it");
  }
  // Of an end only a crash is worth one.
  if (ring_ && ending && (starts || !ending->signal)) return 0;
  poll();  // so that little work is left while it is stopped
  const auto resident = log_->sample_resident();
  add_resident(resident);
  if (starts && !is_worth_a_scan(resident)) return 0;
  jit_names_.find_files();  // their paths are known as long as the process lives
  auto scan = look_at_memory(access, ending);
  if (!scan) {
    if (ending && !starts) capture_.notes.push_back(model::failure_note(scan.error().message));
    return std::unexpected(std::move(scan).error());
  }
  scan->reason = supervision::reason_of(ending);
  last_pause_ns_ = scan->stopped_ns;
  const uint32_t number = add_scan(*std::move(scan));
  if (!maker_.written()) return std::unexpected(maker_.written().error());
  return number;
}

// Returns its number.
uint32_t LocalRecording::add_scan(model::HeapScan scan) {
  if (!ring_) {
    const uint32_t number = maker_.write_scan(std::move(scan));
    seen_.scans = maker_.scan_count();
    return number;
  }
  scan.number = ++seen_.scans;
  scan.events_before = maker_.event_count();
  ring_->add(std::move(scan));
  return seen_.scans;
}

bool LocalRecording::is_worth_a_scan(const std::optional<model::ResidentSample>& resident) const {
  return supervision::is_worth_a_scan(
      {.resident = resident, .blocks = maker_.coder().blocks().live_count(), .last_pause_ns = last_pause_ns_});
}

// The process has exited or is detached: its files are complete.
void LocalRecording::take_last_names() {
  take_names();
  while (!jit_names_.read_to_end(std::chrono::seconds(1))) {
  }
  take_names();
  for (const base::Error& why : jit_names_.why_missing()) note(model::failure_note(why.message));
}

base::Result<model::HeapScan> LocalRecording::look_at_memory(const supervision::ScanAccess& access,
                                                             const std::optional<wire::ExitNotice>& ending) {
  const supervision::ScanTarget target{.access = access,
                                       .ending = ending,
                                       .log = log_->log().parts(),
                                       .heap_is_complete = knows_all_blocks(),
                                       .tells_other_numbers = log_->stream().tells_other_numbers()};
  std::vector<model::Note> notes;
  std::unique_ptr<scan::MemoryCopy> copy = ending ? nullptr : begin_copy(notes);
  auto look = supervision::ProcessScan::stop(target);  // stopped from here on
  if (!look) return std::unexpected(std::move(look).error());
  maker_.take_all();
  maker_.take_tables();
  const uint64_t time_ns = log_->stream().now_ns();
  std::optional<supervision::CopiedProcess> copied;
  if (copy != nullptr) {
    auto result = look->copy(*copy);
    if (result)
      copied = *std::move(result);
    else
      notes.push_back(whole_pause_note(result.error()));
  }
  if (!copied) look->collect(recorded());
  HEAPTAP_TRY(look->release());  // continues, or exits
  copy.reset();
  if (copied) {
    look->collect_copied(recorded(), *copied);
    notes.push_back({.kind = model::NoteKind::kCopiedWhileRunning,
                     .numbers = {copied->memory->again_bytes(), copied->memory->copied_bytes()}});
    copied.reset();
  }
  if (look->facts().crash) maker_.add_crash(*look->facts().crash);
  model::HeapScan scan = look->resolve();
  scan.time_ns = time_ns;
  scan.notes.insert(scan.notes.end(), notes.begin(), notes.end());
  return scan;
}

// Of a process that heaptap attached to. Null: it is scanned as it is when it is stopped.
std::unique_ptr<scan::MemoryCopy> LocalRecording::begin_copy(std::vector<model::Note>& notes) const {
  const auto process = static_cast<pid_t>(capture_.pid);
  if (watches_ == nullptr || capture_.from_start) return nullptr;
  const auto found = watches_->find(process);
  if (found == watches_->end()) return nullptr;
  base::Result<process::WriteWatch>& watch = found->second;
  if (watch && !watch->is_open()) watch = base::fail("its memory changed so that it can't be watched any more");
  if (!watch) {
    notes.push_back(whole_pause_note(watch.error()));
    return nullptr;
  }
  const uint64_t free_bytes = process::free_memory_for(getpid()).free_bytes;
  auto copy = scan::MemoryCopy::begin(*watch, process, {.most_bytes = free_bytes / 2});
  if (copy) return *std::move(copy);
  notes.push_back(whole_pause_note(copy.error()));
  return nullptr;
}

supervision::Recorded LocalRecording::recorded() {
  supervision::Recorded state = recorded_by(maker_, maker_.sees_all_releases(), knows_all_blocks());
  if (!may_have_earlier_blocks()) return state;
  state.add_earlier = [this](supervision::Recorded& recorded, const process::StoppedProcess& stopped,
                             process::ProgramMemory& memory) {
    const auto site_of = [this](uint64_t size_bytes) { return maker_.coder().earlier_site(size_bytes); };
    return supervision::add_earlier_blocks(recorded, stopped, memory, site_of);
  };
  return state;
}

// The target's current totals: later totals in the trace replace earlier ones.
void LocalRecording::write_totals() {
  const bool was_off = (maker_.gaps() & model::kGapUnseenWhileOff) != 0;
  const auto site_of = [this](const wire::RawEvent& event) { return maker_.coder().site_of(event); };
  model::Totals totals = log_->totals().read(site_of, {.before = !capture_.from_start, .while_off = was_off});
  totals.time_ns = log_->elapsed_ns();
  maker_.write_totals(totals);
  last_totals_ = std::move(totals);
}

void LocalRecording::fill(model::Capture& capture, const model::ExitStatus& exit) {
  seen_.calls = maker_.event_count() > 0 || !last_totals_.sites.empty();
  log_->fill_end(capture, exit, seen_);
  if (capture.sample_interval != 0) capture.calls = log_->stream().reader().calls();
  capture.event_count = maker_.event_count();
  capture.lost_events += capture.event_count - writer_->events_written();
  capture.gaps = maker_.gaps();
  log_->note_unseen(capture, seen_);
  maker_.note_missed_releases(capture);
  maker_.tell_crash(capture);
  if (log_->totals().is_on()) std::ranges::move(log_->totals().notes(last_totals_), std::back_inserter(capture.notes));
  log_->note_no_room(capture);
}

}  // namespace heaptap::recordings
