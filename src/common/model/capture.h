// Capture: facts of a recording in a trace, such as the program, how it was recorded, how it ended, what is missing.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/model/event.h"
#include "common/model/note.h"

namespace heaptap::model {

struct ExitStatus {
  std::optional<int> code;    // exit(code)
  std::optional<int> signal;  // or the signal that killed it
};

// Reasons why calls of the program may be missing from a capture, besides lost events. Bits, as in a trace.
enum CaptureGap : uint32_t {
  kGapDamagedLog = 1,       // a thread's log was overwritten; missing from there on
  kGapOmittedObjects = 2,   // calls of some objects were excluded
  kGapPastHooks = 4,        // some objects' calls bypass the watched functions
  kGapMissedReleases = 8,   // blocks were handed out again without a seen release
  kGapSwitchedOff = 16,     // recording was switched off for a while, including releases
  kGapOwnAllocator = 32,    // the program has its own allocator, whose calls aren't seen
  kGapUnseenWhileOff = 64,  // allocations while recording was switched off; releases of recorded blocks were seen
  kGapDroppedPast = 128,    // what was before is kept in part: all that was live then, and bad releases
};

// Suppression file as of the beginning of the recording.
struct SuppressionText {
  std::string file;
  std::string text;
  bool operator==(const SuppressionText&) const = default;
};

// Machine facts that a trace may depend on.
struct Machine {
  std::string architecture;  // "x86_64"; empty: unknown, in a trace before 2.3
  uint32_t elf_machine = 0;  // e_machine of its programs; 0: unknown
  uint32_t word_bytes = 0;
  uint32_t page_bytes = 0;
  bool big_endian = false;
  bool operator==(const Machine&) const = default;
};

// Facts missing from a file of another tool. Bits.
enum NotRecorded : uint32_t {
  kNotRecordedThreads = 1,
  kNotRecordedLifetimes = 2,      // which of several blocks a release belongs to
  kNotRecordedReleaseErrors = 4,  // bad, double and mismatched releases
  kNotRecordedCounts = 8,         // calls and blocks: only bytes are known
};

// Unit of time in a file of another tool. If it isn't time, one nanosecond stands for one of these.
enum class TimeUnit : uint8_t { kNanoseconds, kInstructions, kAllocatedBytes };

// Origin of the data, if it isn't heaptap's own recording.
struct Import {
  std::string tool;           // tool that wrote the file: "heaptrack", "massif"; empty: heaptap
  uint32_t not_recorded = 0;  // bits of NotRecorded
  TimeUnit unit = TimeUnit::kNanoseconds;
  [[nodiscard]] bool tells(NotRecorded what) const { return (not_recorded & what) == 0; }
  [[nodiscard]] bool has_times() const { return unit == TimeUnit::kNanoseconds; }
};

// Stack of the thread whose signal, ExitStatus::signal, ended the process with a core dump.
struct CrashStack {
  StackId stack = 0;    // index into Tables::stacks; read from a file, it isn't checked
  ThreadId thread = 0;  // 0: unknown, since nothing else was recorded of it
};

// All calls of a thread, counted where blocks are sampled.
struct ThreadCalls {
  ThreadId thread = 0;  // 0: all that have no entry of their own, since there are kMaxThreadCalls
  uint64_t allocations = 0;
  uint64_t allocated_bytes = 0;
  uint64_t releases = 0;

  void add(const ThreadCalls& other) {
    allocations += other.allocations;
    allocated_bytes += other.allocated_bytes;
    releases += other.releases;
  }
  bool operator==(const ThreadCalls&) const = default;
};

inline constexpr size_t kMaxThreadCalls = 65'536;

// Nothing was recorded: a core file was scanned.
inline constexpr const char kViaCore[] = "core";

struct Capture {
  // Known at the start.
  std::vector<std::string> command;
  std::string executable;  // resolved path
  uint32_t pid = 0;
  uint32_t parent_pid = 0;
  std::string host_name;
  // The program's machine. Readers use these, never the machine that they run on.
  std::string architecture;  // "x86_64"
  uint32_t elf_machine = 0;  // its e_machine; 0: unknown
  uint32_t word_bytes = 8;
  uint32_t page_bytes = 4096;
  bool big_endian = false;
  Machine recorder;                 // heaptap's own, where it recorded
  std::string via;                  // "agent", "ptrace", or kViaCore
  uint64_t start_unix_ns = 0;       // wall clock
  uint64_t time_resolution_ns = 0;  // of the events' times
  bool from_start = true;           // false: attached later, earlier allocations were not seen
  uint64_t sample_interval = 0;     // bytes, see common/model/sampling.h; 0: all blocks are recorded
  std::string heaptap_version;
  std::vector<SuppressionText> suppressions;
  Import import;

  // Known at the end; empty or zero in a truncated trace.
  bool ended = false;
  bool executed = false;  // the process executed another program, so this one has no exit status
  bool detached = false;  // detached; the process continued
  ExitStatus exit;
  std::optional<CrashStack> crash;  // none: no crash, or its stack wasn't seen
  uint64_t duration_ns = 0;
  uint64_t ticks_per_second = 0;  // of the clock that ordered the events, as measured; 0: unknown
  uint64_t event_count = 0;
  uint64_t lost_events = 0;
  uint32_t gaps = 0;               // bits of CaptureGap
  std::vector<Note> notes;         // data that is missing
  std::vector<ThreadCalls> calls;  // with a sample_interval; ascending by thread
  // Time in which the tracer paused threads of the program, leak scans apart. None: unknown, or recorded by the agent.
  std::optional<uint64_t> paused_by_tracer_ns;
  uint64_t collector_cpu_ns = 0;
  uint64_t collector_peak_rss_bytes = 0;
  uint64_t log_bytes_used = 0;  // maximum of the shared memory in use at one time
  uint64_t trace_bytes = 0;     // size of the file

  // Determined while reading.
  bool running = false;    // still being recorded: this is the part so far
  bool truncated = false;  // the file ends early or is damaged
  std::string damage;      // kind of damage, and its byte offset
  // Where the file ends early: time of its last event, with everything before complete. None: unknown, or something before is missing.
  std::optional<uint64_t> known_until_ns;

  [[nodiscard]] bool is_of_core() const { return via == kViaCore; }
};

}  // namespace heaptap::model
