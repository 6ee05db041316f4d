#include "collect/recording.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/clock.h"
#include "collect/exec_notes.h"
#include "collect/past_hooks.h"
#include "process/memory_room.h"
#include "process/process_status.h"
#include "trace/table_frames.h"

namespace heaptap::collect {
namespace {

constexpr size_t kBatchEvents = 4096;  // stay in the processor's cache from the log to the frame's columns
constexpr size_t kFrameEvents = 262144;
constexpr uint64_t kMaxPollBytes = 1024 * 1024;
constexpr uint64_t kLongestUnwrittenNs = 1'000'000'000;  // so that a collector that dies takes little with it
constexpr uint64_t kTimeResolutionNs = 100'000;

std::string thread_name(uint32_t pid, uint32_t thread) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/comm", pid, thread));
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace

base::Result<std::unique_ptr<Recording>> Recording::create(const log::LogOptions& options, model::Capture capture,
                                                           const std::string& path, bool overwrite) {
  auto log = log::LogMemory::create(options);
  if (log == nullptr) return base::fail("can't make the memory for the log: {}", base::reason_of(errno));
  auto writer = trace::TraceWriter::create(path, overwrite);
  if (!writer) return std::unexpected(std::move(writer).error());
  capture.time_resolution_ns = kTimeResolutionNs;
  capture.start_unix_ns = base::clock_ns(CLOCK_REALTIME);
  HEAPTAP_TRY((*writer)->begin(capture));
  return std::unique_ptr<Recording>(new Recording(std::move(log), std::move(*writer), std::move(capture)));
}

Recording::Recording(std::unique_ptr<log::LogMemory> log, std::unique_ptr<trace::TraceWriter> writer,
                     model::Capture capture)
    : log_(std::move(log)),
      writer_(std::move(writer)),
      capture_(std::move(capture)),
      tables_(trace::empty_tables()),
      reader_(log_->parts()),
      coder_({.codes = log_->parts().codes, .nodes = log_->parts().nodes}, tables_, kTimeResolutionNs,
             capture_.from_start),
      totals_(log_->parts()),
      clock_(log_->header()),
      start_monotonic_ns_(base::clock_ns(CLOCK_MONOTONIC)) {
  scale_.start_ticks = clock_.now();
  reader_.set_may_grow([process = static_cast<pid_t>(capture_.pid)](uint64_t bytes) {
    constexpr uint64_t kShare = 4;  // of what is left, for the log
    return bytes <= process::free_memory_for(process) / kShare;
  });
  if (totals_.is_on()) coder_.expect_doubles();
  is_in_own_namespace_ =
      capture_.via == "agent" && !process::read_thread_numbers(static_cast<pid_t>(capture_.pid)).empty();
}

uint64_t Recording::poll() {
  update_clock();
  uint64_t bytes = 0;
  bool moves = true;
  do {
    const size_t waiting = raw_.size();
    const uint64_t read = reader_.drain(raw_, false);
    moves = read > 0 || raw_.size() > waiting;
    bytes += read;
    code_events(false);
    // What is unread may wait for a writer that is in the middle of a record: not to be waited for here.
  } while (moves && reader_.has_unread() && bytes < kMaxPollBytes);
  const uint64_t now = base::clock_ns(CLOCK_MONOTONIC);
  if (now - last_write_ns_ > kLongestUnwrittenNs) {
    write_frame();
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

base::Result<> Recording::finish(const model::ExitStatus& exit) {
  take_all();
  write_frame();
  if (totals_.is_on()) write_totals();
  fill_capture(exit);
  if (written_) written_ = writer_->finish(capture_, tables_);
  return written_;
}

// Of a process that is gone, or stands still.
void Recording::take_all() {
  update_clock();
  // More than a log and its reader can hold isn't the rest of anything: somebody who has the memory goes on writing.
  const uint64_t most_bytes = 2 * (log_->parts().chunks.size() + log::LogReader::kMaxKeptBytes);
  const uint64_t most_rounds = most_bytes / sizeof(wire::Record);
  uint64_t bytes = 0;
  for (uint64_t round = 0; bytes <= most_bytes && round < most_rounds; ++round) {
    const uint64_t read = reader_.drain(raw_, true);
    bytes += read;
    if (read == 0 && reader_.is_empty()) break;
    code_events(false);
  }
  code_events(true);
}

base::Result<uint32_t> Recording::scan(const ScanAccess& access, const std::optional<wire::ExitNotice>& ending) {
  end_was_seen_ = end_was_seen_ || ending.has_value();
  poll();  // so that little is left to be done while it stands still
  const bool is_complete = capture_.from_start && reader_.lost_events() == 0 && gaps() == 0;
  const ScanTarget target{.access = access,
                          .ending = ending,
                          .log = log_->parts(),
                          .heap_is_complete = is_complete,
                          .tells_other_numbers = is_in_own_namespace_};
  uint64_t time_ns = 0;
  auto scan = scan_process(target, [this, &time_ns] {
    take_all();
    read_modules();
    read_threads();
    time_ns = scale_.to_ns(clock_.now());
    Recorded recorded{.blocks = {}, .mapped = coder_.mapped(), .tables = tables_};
    recorded.saw_all_releases = reader_.lost_events() == 0 && gaps() == 0;
    coder_.blocks().for_each_live([&](uint64_t address, const BlockMap::Block& block) {
      constexpr uint64_t kMaxBytes = uint64_t{1} << 47;  // no process has more: its log was overwritten
      if (block.size_bytes > kMaxBytes) return;
      recorded.blocks.push_back({address, block.size_bytes, block.number, block.allocated_at, 0});
    });
    return recorded;
  });
  if (!scan) {
    if (ending) capture_.notes.push_back(scan.error().message);
    return std::unexpected(std::move(scan).error());
  }
  scan->number = ++scan_count_;
  scan->reason = ending ? model::ScanReason::kEnd : model::ScanReason::kAsked;
  scan->time_ns = time_ns;
  write_frame();
  if (written_) written_ = writer_->write_scan(*scan, tables_);
  if (!written_) return std::unexpected(written_.error());
  return scan->number;
}

void Recording::code_events(bool last) {
  if (log_->header().slots_used.load(std::memory_order_acquire) > 1) coder_.expect_doubles();
  read_modules();  // what they call may go past the hooks
  coder_.set_incomplete(reader_.lost_events() > 0 || gaps() != 0);
  size_t taken = 0;
  for (size_t now = 1; now > 0; taken += now) {
    const auto rest = std::span(raw_).subspan(taken);
    now = coder_.take(rest, scale_, kBatchEvents, last, batch_);
    // What waits for a release that may come doesn't wait for ever, also where nothing else comes.
    if (now == 0 && !rest.empty() && is_overdue(rest.front())) {
      now = coder_.take(rest.first(1), scale_, kBatchEvents, true, batch_);
    }
    add_batch();
  }
  raw_.erase(raw_.begin(), raw_.begin() + static_cast<ptrdiff_t>(taken));
}

bool Recording::is_overdue(const wire::RawEvent& event) const {
  constexpr uint64_t kOverdueTicks = 1'000'000'000;  // a stream is waited for by much less
  // Not the time now: where this side is behind, the release may be in what it has yet to read.
  const uint64_t seen = reader_.complete_until();
  return seen > event.time && seen - event.time > kOverdueTicks;
}

void Recording::add_batch() {
  if (batch_.events.empty()) return;
  capture_.event_count += batch_.events.size();
  if (written_) writer_->add(batch_, tables_);
  batch_.events.clear();
  batch_.time_marks.clear();
  batch_.bad_releases.clear();
  if (writer_->events_pending() >= kFrameEvents) write_frame();
}

void Recording::write_frame() {
  read_modules();
  read_threads();
  if (written_) written_ = writer_->flush(tables_);
}

// What the target keeps, as it is now: the trace's later totals take the place of earlier ones.
void Recording::write_totals() {
  read_modules();
  read_threads();
  model::Totals totals = totals_.read(coder_, capture_.from_start);
  totals.time_ns = base::clock_ns(CLOCK_MONOTONIC) - start_monotonic_ns_;
  if (written_) written_ = writer_->write_totals(totals, tables_);
  last_totals_ = std::move(totals);
}

void Recording::read_modules() {
  const std::span<const uint8_t> modules = log_->parts().modules;
  const uint32_t end = log_->header().modules_bytes.load(std::memory_order_acquire);
  while (end <= modules.size() && modules_read_ + sizeof(wire::ModuleNote) <= end) {
    wire::ModuleNote note;
    std::memcpy(&note, modules.data() + modules_read_, sizeof(note));
    const size_t bytes = (sizeof(note) + note.path_bytes + 7) & ~size_t{7};
    if (modules_read_ + bytes > end || note.build_id_bytes > sizeof(note.build_id) || note.end < note.start) {
      modules_read_ = UINT32_MAX;  // not what an agent writes: no more of it
      return;
    }
    const auto* path = reinterpret_cast<const char*>(modules.data() + modules_read_ + sizeof(note));
    tables_.modules.push_back(
        {.path = std::string(path, note.path_bytes),
         .build_id = std::string(reinterpret_cast<const char*>(note.build_id), note.build_id_bytes),
         .bias = note.bias,
         .start = note.start,
         .end = note.end,
         .generation = note.generation,
         .flags = note.flags});
    modules_read_ += static_cast<uint32_t>(bytes);
    if (capture_.via == "agent" && !goes_past_hooks_) {
      goes_past_hooks_ = goes_past_hooks(static_cast<pid_t>(capture_.pid), tables_.modules.back().path);
    }
  }
}

void Recording::read_threads() {
  constexpr unsigned kMaxNamesAsked = 200;
  unsigned names_asked = 0;
  // Where threads come in crowds, most are gone by now, and asking for their names costs more than they do.
  for (const log::StreamEnd& seen : reader_.take_new_threads()) {
    add_thread(seen.thread_number, seen.thread_id, names_asked++ < kMaxNamesAsked);
  }
  if (!totals_.is_on()) return;
  for (const TotalsCollector::Thread& seen : totals_.take_new_threads()) {
    add_thread(seen.number, seen.kernel_id, names_asked++ < kMaxNamesAsked);
  }
}

void Recording::add_thread(uint32_t number, uint32_t kernel_id, bool ask_name) {
  constexpr uint32_t kMaxThreads = 1u << 28;  // more than any process has had: not what an agent writes
  if (number >= kMaxThreads) return;
  if (number >= threads_known_.size()) threads_known_.resize(number + size_t{1024});
  if (threads_known_[number]) return;
  threads_known_[number] = true;
  if (ask_name && is_in_own_namespace_) {
    const auto numbers = process::read_thread_numbers(static_cast<pid_t>(capture_.pid));
    if (const auto ours = numbers.find(kernel_id); ours != numbers.end()) kernel_id = ours->second;
  }
  tables_.threads.push_back({number, kernel_id, ask_name ? thread_name(capture_.pid, kernel_id) : ""});
}

void Recording::update_clock() {
  const uint64_t ticks = clock_.now() - scale_.start_ticks;
  const uint64_t elapsed = base::clock_ns(CLOCK_MONOTONIC) - start_monotonic_ns_;
  if (ticks > 0) scale_.ns_per_tick = static_cast<double>(elapsed) / static_cast<double>(ticks);
}

// Why calls may be missing, for all that is known by now.
uint32_t Recording::gaps() const {
  uint32_t gaps = 0;
  if (reader_.damaged_streams() > 0) gaps |= model::kGapDamagedLog;
  if (log_->parts().omits) gaps |= model::kGapOmittedObjects;
  if (goes_past_hooks_ || log_->header().own_scopes.load(std::memory_order_relaxed) != 0) gaps |= model::kGapPastHooks;
  if (coder_.missed_releases() > 0 || totals_.missed_releases() > 0) gaps |= model::kGapMissedReleases;
  return gaps;
}

void Recording::fill_capture(const model::ExitStatus& exit) {
  capture_.ended = true;
  if (capture_.via == "agent") note_execs();
  capture_.exit = exit;
  capture_.duration_ns = base::clock_ns(CLOCK_MONOTONIC) - start_monotonic_ns_;
  capture_.lost_events = reader_.lost_events() + capture_.event_count - writer_->events_written();
  capture_.log_bytes_used = uint64_t{reader_.most_chunks_used()} * wire::kChunkBytes;
  capture_.collector_cpu_ns = base::clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  capture_.collector_peak_rss_bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  capture_.gaps = gaps();
  note_what_was_not_seen();
}

// What the agent told of programs that were executed.
void Recording::note_execs() {
  const wire::LogHeader& log = log_->header();
  capture_.executed = capture_.executed || has_executed(log);
  for (std::string& text : exec_notes(log)) note(std::move(text));
}

void Recording::note(std::string text) {
  std::vector<std::string>& notes = capture_.notes;
  if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(std::move(text));
}

std::string Recording::cause_of_losses() const {
  const uint64_t used = uint64_t{reader_.usable_chunks()} * wire::kChunkBytes / 1024;
  const uint64_t most = uint64_t{reader_.chunk_limit()} * wire::kChunkBytes / 1024;
  const log::LogParts& log = log_->parts();
  if (!log.writers_wait) {
    return fmt::format(
        "events were lost because the program was faster than heaptap, whose log of {} KiB was full "
        "(--on-overflow=wait makes it wait)",
        used);
  }
  if (log.header.waits_in_vain.load(std::memory_order_relaxed) > 0) {
    return fmt::format(
        "events were lost because heaptap stood still for {} s while its log was full: it was stopped, or had no "
        "processor (the log had {} KiB, and may grow to {} KiB)",
        log.overflow_wait_ms / 1000, used, most);
  }
  if (capture_.via == "ptrace") {
    return "events were lost where no room could be made for a thread, or where a call came back and no breakpoint "
           "could "
           "be there";
  }
  return "events were lost where no room could be made for a thread, or for one more signal handler within others";
}

// Of a log that an agent in the program writes.
void Recording::note_what_no_agent_saw() {
  const wire::LogHeader& log = log_->header();
  const auto state = static_cast<wire::AgentState>(log.agent_state.load(std::memory_order_acquire));
  if (state == wire::AgentState::kNotConnected) {
    note("the agent was never loaded into the program: nothing was recorded");
  } else if (capture_.event_count == 0 && last_totals_.sites.empty()) {
    note(
        "no call of an allocation function was seen: the program doesn't allocate, or it brings its own allocator "
        "inside its executable, which a preloaded agent can't see");
  }
  if (const uint32_t count = log.children_unreached.load(std::memory_order_relaxed); count > 0) {
    note(fmt::format(
        "{} forked {} not recorded: heaptap couldn't be reached from where {} (another network namespace, a "
        "filter of system calls, no free descriptor), or gave no answer in time",
        count, count == 1 ? "child was" : "children were", count == 1 ? "it is" : "they are"));
  }
  const bool wanted_scan = state != wire::AgentState::kNotConnected && (log_->parts().flags & wire::kScanAtEnd) != 0;
  if (wanted_scan && !end_was_seen_) {
    note(capture_.executed
             ? "no leak scan was made at the end: the program executed another one, and its memory was gone"
             : "no leak scan was made at the end: the program was killed, ended by a system call of its own, or "
               "executed another program");
  }
}

void Recording::note_what_was_not_seen() {
  const wire::LogHeader& log = log_->header();
  std::vector<std::string>& notes = capture_.notes;
  if (capture_.via == "agent") {
    note_what_no_agent_saw();
  } else if ((log_->parts().flags & wire::kScanAtEnd) != 0 && scan_count_ == 0) {
    note("no leak scan was made at the end: the program was killed, or executed another program");
  }
  if (coder_.missed_releases() > 0) {
    notes.push_back(
        fmt::format("{} blocks were handed out again without a release having been seen: something releases them past "
                    "the functions "
                    "that heaptap watches; they count as freed then",
                    coder_.missed_releases()));
  }
  if (totals_.is_on()) {
    for (std::string& note : totals_.notes(last_totals_)) notes.push_back(std::move(note));
  }
  if (capture_.lost_events > 0) note(cause_of_losses());
  if (reader_.damaged_streams() > 0) {
    notes.push_back(
        fmt::format("the log of {} threads was damaged (overwritten by the program?) and is missing from there on",
                    reader_.damaged_streams()));
  }
  if (const uint32_t count = log.module_overflow.load(std::memory_order_relaxed); count > 0) {
    notes.push_back(fmt::format("{} loaded objects were not noted: there were too many", count));
  }
  if (log.node_count.load(std::memory_order_relaxed) >= log_->parts().nodes.size()) {
    notes.emplace_back("the table of call stacks was full: later stacks that were new are cut short");
  }
}

}  // namespace heaptap::collect
