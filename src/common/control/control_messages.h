// Control protocol between a recording heaptap and its clients (console, top, leaks, mark): its numbers and its
// messages, written and read. Described in docs/wire.md. Received messages are not trusted: what is missing or
// impossible is 0, empty or unknown.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/message/message.h"
#include "common/model/capture.h"
#include "common/model/mark.h"

namespace heaptap::control {

// Besides those of all protocols (message::CommonKind).
enum class Kind : uint8_t {
  kNews = 4,  // number 0, at any time

  // Requests.
  kSettings = 16,
  kProcesses = 17,
  kFigures = 18,    // ProcessRequest
  kMarks = 19,      // ProcessRequest
  kStart = 20,      // ProcessRequest
  kStop = 21,       // ProcessRequest
  kReset = 22,      // ProcessRequest
  kMark = 23,       // MarkRequest
  kScan = 24,       // ProcessRequest
  kDepth = 25,      // DepthRequest
  kSnapshot = 26,   // SnapshotRequest: writes all pending data; the answer has the trace's size, and its descriptor
  kDetach = 27,     // ProcessRequest
  kKill = 28,       // KillRequest
  kSubscribe = 29,  // to news
};

enum class Field : uint8_t {
  kText = 3,
  kPid = 5,
  kEntry = 6,  // fields of an entry of a list, one each

  // Of a process.
  kParentPid = 16,
  kImage = 17,
  kProgram = 18,
  kVia = 19,
  kTraceName = 20,
  kIsRecorded = 21,
  kIsOn = 22,
  kHasExecuted = 23,
  kIsDetached = 24,
  kExitCode = 25,
  kExitSignal = 26,

  // Figures.
  kTimeNs = 32,
  kEvents = 33,
  kLostEvents = 34,
  kLogUsedBytes = 35,
  kLogLimitBytes = 36,
  kTraceBytes = 37,
  kResidentBytes = 38,
  kTargetCpuNs = 39,
  kCollectorCpuNs = 40,
  kMarkCount = 42,
  kScanCount = 43,
  kPausedByTracerNs = 44,

  // Settings.
  kHeaptapVersion = 48,
  kDepth = 49,
  kFollowsFork = 50,
  kFollowsExec = 51,
  kScansAtEnd = 52,
  kDropsOnOverflow = 53,
  kArgument = 54,  // of the command, one each

  // Marks, scans, news.
  kNumber = 64,
  kMarkKind = 65,
  kName = 66,
  kThread = 67,
  kEventsBefore = 68,
  kNewsKind = 69,
  kSignal = 70,
};

// About one process; without its PID about all of them, or the first.
struct ProcessRequest {
  std::optional<uint64_t> pid = {};
};

struct MarkRequest {
  std::optional<uint64_t> pid = {};
  std::optional<uint64_t> kind = {};  // model::MarkKind, between two machines; else a named one
  std::string name = {};
};

struct DepthRequest {
  uint64_t depth = 0;  // frames per stack; 0: all
};

struct SnapshotRequest {
  std::optional<uint64_t> pid = {};
  uint32_t image = 0;  // 0: the last one
};

struct KillRequest {
  std::optional<uint64_t> pid = {};  // between two machines 0: the program started by the host
  std::string signal = {};           // its name, "TERM"
};

// Program of a recorded process. A process that executed others has several in succession: its images.
struct Process {
  uint32_t pid = 0;
  uint32_t parent_pid = 0;
  uint32_t image = 1;        // number of the program within its process, from 1
  std::string program = {};  // as it was started
  std::string via = {};      // "agent" or "ptrace"
  std::string trace = {};    // file name at its creation
  bool runs = false;         // running and being recorded
  bool is_on = true;         // false: recording is switched off
  bool executed = false;
  bool detached = false;
  model::ExitStatus exit = {};  // if ended and known
};

// Cost and progress of capturing a process.
struct Figures {
  uint32_t pid = 0;
  uint64_t time_ns = 0;  // since the start of its capture
  uint64_t events = 0;
  uint64_t lost_events = 0;
  uint64_t log_used_bytes = 0;
  uint64_t log_limit_bytes = 0;
  uint64_t trace_bytes = 0;
  std::optional<uint64_t> resident_bytes = {};  // of the process
  std::optional<uint64_t> target_cpu_ns = {};   // used so far
  uint64_t collector_cpu_ns = 0;                // of heaptap, for all processes
  bool is_on = true;
  uint32_t marks = 0;
  uint32_t scans = 0;
  std::optional<uint64_t> paused_by_tracer_ns = {};  // threads of the process, in all; none: unknown, or by the agent
};

// Settings of the whole recording.
struct Settings {
  uint32_t collector_pid = 0;
  std::string heaptap_version = {};
  std::string via = {};
  uint32_t depth = 0;  // frames kept per stack; 0: all
  bool follows_fork = false;
  bool follows_exec = false;
  bool scans_at_end = false;
  bool drops_on_overflow = false;
  std::vector<std::string> command = {};
};

struct Scanned {
  uint32_t pid = 0;
  uint32_t number = 0;  // of the scan in the process's trace, from 1
};

struct Snapshot {
  uint32_t pid = 0;
  uint32_t image = 0;
  uint64_t trace_bytes = 0;              // up to which it is written
  std::optional<uint64_t> events = {};   // of a process that is recorded
  std::optional<uint64_t> time_ns = {};  // likewise
  std::string trace = {};                // path
};

// Spontaneous event of a recording.
struct News {
  enum class Kind : uint8_t {
    kConnectionLost =
        0,  // never sent: a client's own, when the recording or its heaptap process has ended; `text`: why, if known
    kBegan = 1,     // a process started being recorded; `parent_pid`, `text`: its program
    kExecuted = 2,  // it executed another program; `text`
    kEnded = 3,     // `exit`
    kDetached = 4,
    kScanned = 5,     // `number`: of the scan, from any requester
    kMarked = 6,      // `number`, `text`: its name
    kSwitchedOn = 7,  // recording; `number` and `text` of its mark
    kSwitchedOff = 8,
  };
  Kind kind = Kind::kConnectionLost;
  uint32_t pid = 0;
  uint32_t parent_pid = 0;
  uint32_t number = 0;
  model::ExitStatus exit = {};
  std::string text = {};
};

message::Fields encode(const ProcessRequest& request);
message::Fields encode(const MarkRequest& request);
message::Fields encode(const DepthRequest& request);
message::Fields encode(const SnapshotRequest& request);
message::Fields encode(const KillRequest& request);
message::Fields encode(std::span<const Process> processes);
message::Fields encode(const Figures& figures);
message::Fields encode(const Settings& settings);
message::Fields encode(std::span<const model::Mark> marks);
message::Fields encode(const Scanned& scanned);
message::Fields encode(const Snapshot& snapshot);
message::Fields encode(const News& news);

ProcessRequest decode_process_request(const message::Fields& fields);
MarkRequest decode_mark_request(const message::Fields& fields);
DepthRequest decode_depth_request(const message::Fields& fields);
SnapshotRequest decode_snapshot_request(const message::Fields& fields);
KillRequest decode_kill_request(const message::Fields& fields);
std::vector<Process> decode_processes(const message::Fields& fields);
Figures decode_figures(const message::Fields& fields);
Settings decode_settings(const message::Fields& fields);
// An unknown kind of mark is a named one.
std::vector<model::Mark> decode_marks(const message::Fields& fields);
Scanned decode_scanned(const message::Fields& fields);
Snapshot decode_snapshot(const message::Fields& fields);
// None: of a later version.
std::optional<News> decode_news(const message::Fields& fields);

// Of a process or a program, among other fields.
void add_exit(message::Fields& fields, const model::ExitStatus& exit);
model::ExitStatus exit_in(const message::Fields& fields);

}  // namespace heaptap::control
