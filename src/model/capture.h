// What a trace says about itself: which program, how it was captured, how it ended, what is missing.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/note.h"

namespace heaptap::model {

struct ExitStatus {
  std::optional<int> code;    // exit(code)
  std::optional<int> signal;  // or the signal that killed it
};

// Why calls of the program may be missing from a capture, besides events that were lost. Bits, as a trace has them.
enum CaptureGap : uint32_t {
  kGapDamagedLog = 1,      // a thread's log was overwritten, and is missing from there on
  kGapOmittedObjects = 2,  // calls of some objects weren't wanted
  kGapPastHooks = 4,       // some objects' calls go past the functions that are watched
  kGapMissedReleases = 8,  // blocks were handed out again without a release having been seen
  kGapSwitchedOff = 16,    // recording was switched off for a while, and no releases were seen meanwhile either
  kGapOwnAllocator = 32,   // the program has an allocator of its own, whose calls aren't seen
  kGapUnseenWhileOff =
      64,  // what was allocated while recording was switched off; releases of what was recorded were seen
};

// A file of suppressions as it was when the recording began.
struct SuppressionText {
  std::string file;
  std::string text;
  bool operator==(const SuppressionText&) const = default;
};

// A machine, as far as what is in a trace may depend on it.
struct Machine {
  std::string architecture;  // "x86_64"; empty: not told, in a trace from before 2.3
  uint32_t elf_machine = 0;  // e_machine of its programs; 0: not told
  uint32_t word_bytes = 0;
  uint32_t page_bytes = 0;
  bool big_endian = false;
  bool operator==(const Machine&) const = default;
};

// What a file of another tool doesn't tell. Bits.
enum Untold : uint32_t {
  kUntoldThreads = 1,
  kUntoldLifetimes = 2,      // which of several blocks a release was of
  kUntoldReleaseErrors = 4,  // bad, double and mismatched releases
  kUntoldCounts = 8,         // calls and blocks: bytes alone are told
};

// What a file of another tool measured time in. Where that isn't time, a number of nanoseconds is one of these.
enum class TimeUnit : uint8_t { kNanoseconds, kInstructions, kAllocatedBytes };

// Where it isn't heaptap's own recording.
struct Import {
  std::string tool;     // whose file it is: "heaptrack", "massif"; empty: heaptap's own
  uint32_t untold = 0;  // bits of Untold
  TimeUnit unit = TimeUnit::kNanoseconds;
  [[nodiscard]] bool tells(Untold what) const { return (untold & what) == 0; }
  [[nodiscard]] bool has_times() const { return unit == TimeUnit::kNanoseconds; }
};

struct Capture {
  // Known from the start.
  std::vector<std::string> command;
  std::string executable;  // resolved path
  uint32_t pid = 0;
  uint32_t parent_pid = 0;
  std::string host_name;
  // The program's. A reader goes by these, and never by the machine that it runs on.
  std::string architecture;  // "x86_64"
  uint32_t elf_machine = 0;  // e_machine of it; 0: not told
  uint32_t word_bytes = 8;
  uint32_t page_bytes = 4096;
  bool big_endian = false;
  Machine recorder;                 // heaptap's own, where it was recorded
  std::string via;                  // "agent" or "ptrace"
  uint64_t start_unix_ns = 0;       // wall clock
  uint64_t time_resolution_ns = 0;  // of the events' times
  bool from_start = true;           // false: attached later, earlier allocations were not seen
  std::string heaptap_version;
  std::vector<SuppressionText> suppressions;
  Import import;

  // Known at the end; empty or zero in a trace that was cut off.
  bool ended = false;
  bool executed = false;  // the process went on as another program, so that this one has no exit status
  bool detached = false;  // and ran on
  ExitStatus exit;
  uint64_t duration_ns = 0;
  uint64_t ticks_per_second = 0;  // of the clock that ordered the events, as measured; 0: not told
  uint64_t event_count = 0;
  uint64_t lost_events = 0;
  uint32_t gaps = 0;        // bits of CaptureGap
  std::vector<Note> notes;  // what could not be seen
  uint64_t collector_cpu_ns = 0;
  uint64_t collector_peak_rss_bytes = 0;
  uint64_t log_bytes_used = 0;  // of the shared memory, at most at one time
  uint64_t trace_bytes = 0;     // size of the file

  // Found while reading.
  bool running = false;    // the recording goes on: this is what there is of it so far
  bool truncated = false;  // the file ends early or is damaged
  std::string damage;      // what is wrong and from which byte on
  // Where the file ends early: the time of its last event, up to which all was read. None: not known, or something before is missing.
  std::optional<uint64_t> known_until_ns;
};

}  // namespace heaptap::model
