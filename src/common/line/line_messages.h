// Protocol between a host and the target's side: its numbers and its messages, written and read, except what a recording
// order (record_order.h) and the search for functions (function_codec.h) say. Described in docs/wire.md. The host passes
// on requests of the control protocol as well (control::Kind). Received messages are not trusted: what is missing or
// impossible is 0, empty or unknown.
//
// A std::string_view of a read message lies in its fields.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/message/message.h"
#include "common/model/capture.h"
#include "common/model/heap_scan.h"
#include "common/model/note.h"

namespace heaptap::line {

inline constexpr uint32_t kFunctionsSinceMinor = 2;  // hosts of earlier versions don't answer kFunctionsWanted

// Besides those of all protocols (message::CommonKind), and the passed on ones.
enum class Kind : uint8_t {
  // For the line itself.
  kResume = 64,    // after kHello: Resume
  kReceived = 65,  // Received
  kHeartbeat = 66,
  // From the host.
  kRecord = 70,    // RecordOrder; once
  kBlocks = 71,    // BlocksPiece
  kDetach = 72,    // detaches from all processes
  kFarewell = 73,  // it has all data, or wants no more: the session is over
  // From the target's side.
  kRecording = 80,  // RecordingBegun
  kBytes = 81,      // StreamBytes
  kMarked = 82,     // Marked, after all of the stream's bytes so far
  kBlocksWanted = 83,
  kScanned = 84,  // ScanPiece
  kEnded = 85,    // RecordingEnded
  kNotRecorded = 87,
  kAllEnded = 88,
  kFiguresNow = 89,   // StreamFigures or ReportWanted
  kDropped = 90,      // RecordingDropped
  kTracerWaits = 91,  // TracerWaits
  // Files of modules, requested by the host one piece at a time.
  kFileWanted = 105,
  kFilePiece = 106,    // the answer
  kFileSettled = 107,  // the host has it, or no longer wants it
  // The target's side asks, the host answers.
  kRowsWanted = 114,       // RowRequest: unwind rows
  kRows = 115,             // RowsPiece
  kFunctionsWanted = 116,  // FunctionRequest: of a program without symbols
  kFunctions = 117,        // FoundFunctions
  kCodeNames = 118,        // CodeNames, from the target's side
  kResident = 119,         // ResidentSamples, from the target's side
  kAttached = 120,         // Attached, from the target's side
};

enum class Field : uint8_t {
  kText = 3,
  kPid = 5,
  kEntry = 6,  // an entry of a list, one each
  kVia = 19,
  kTimeNs = 32,
  kLostEvents = 34,
  kLogUsedBytes = 35,
  kLogLimitBytes = 36,
  kPausedByTracerNs = 44,
  kDepth = 49,
  kFollowsFork = 50,
  kFollowsExec = 51,
  kScansAtEnd = 52,
  kDropsOnOverflow = 53,
  kArgument = 54,  // of the command, one each
  kNumber = 64,
  kMarkKind = 65,
  kName = 66,
  kSession = 80,
  kStream = 81,
  kBytes = 82,
  kCapture = 83,
  kEnvironment = 84,
  kOmit = 85,  // an object whose calls are no events, one each
  kNoCpp = 86,
  kLogBytes = 87,
  kReportSignal = 88,
  kUser = 89,
  kNotesBefore = 91,
  kMore = 92,  // another piece follows
  kChecksum = 93,
  kReadBytes = 94,
  kSkippedBytes = 95,
  kStoppedNs = 96,
  kThreads = 97,
  kNote = 98,  // one each
  kReason = 99,
  kPooled = 104,
  kCompression = 109,
  kTakesOver = 110,
  kFetches = 120,  // the host may request files
  kModule = 121,
  kOffset = 122,
  kFileBytes = 123,
  kBuildId = 124,
  kQuestion = 125,
  kUnsettled = 126,
  kAddress = 134,  // link-time
  kRows = 140,
  kIsLocal = 144,  // symbol of local binding
  kRegions = 145,
  kExitBegins = 146,  // of a scan
  kCrash = 147,
  kReleaseStacks = 148,
};

struct Resume {
  std::string session = {};  // empty: a new one
  uint64_t received = 0;     // messages of it received so far
  uint64_t takes_over = 0;   // see TakeOver; the host requests a recording begun by the target's side
  uint64_t process = 0;      // with takes_over: of that process; 0: the only one
};
// Other numbers than 0 are as 1.
enum TakeOver : uint8_t { kNoTakeOver = 0, kTakeOver = 1, kTakeOverByForce = 2 };  // also from a connected host

struct Received {
  uint64_t messages = 0;  // received in the session so far
};

struct RecordingBegun {
  uint64_t stream = 0;
  std::string_view capture = {};  // frames::write_capture_start()
  uint64_t kept_ns = 0;           // how long it is kept for a host that is gone; 0: not told
};

struct StreamBytes {
  uint64_t stream = 0;
  std::string_view bytes = {};
};

// Of generated code, by the numbers that the codes have in the stream, which came before.
struct CodeNames {
  uint64_t stream = 0;
  std::string_view names = {};
};

struct ResidentSamples {
  uint64_t stream = 0;
  std::string_view samples = {};  // frames::write_resident()
};

struct Marked {
  uint64_t stream = 0;
  uint64_t kind = 0;  // model::MarkKind
  std::string name = {};
  uint64_t time_ns = 0;
};

struct BlocksWanted {
  uint64_t stream = 0;
  uint64_t question = 0;
};

// Of the live blocks after all received events: first what is unsettled, then blocks of pools, then the others.
struct BlocksPiece {
  enum class Content : uint8_t {
    kBlocks,
    kPooled,     // blocks of pools: like blocks, with the pool's number above the size
    kUnsettled,  // events whose meaning depends on later ones
  };
  uint64_t stream = 0;
  uint64_t question = 0;
  Content content = Content::kBlocks;
  std::string_view bytes = {};
  bool more = false;
};

// Facts of a leak scan, told with its last piece.
struct ScanEnd {
  uint64_t stopped_ns = 0;
  uint64_t read_bytes = 0;
  uint64_t skipped_bytes = 0;
  uint32_t threads = 0;
  std::vector<model::Note> notes = {};  // wrong ones are left out
  uint64_t checksum = 0;                // of the blocks
  uint64_t time_ns = 0;
  model::ScanReason reason = model::ScanReason::kAsked;
  std::string regions = {};  // frames::write_regions(): resident memory; empty: unknown
  std::string crash = {};    // frames::write_crash(); empty: none, or unknown
};

struct ScanPiece {
  uint64_t stream = 0;
  std::string_view bytes = {};
  std::optional<ScanEnd> end = {};  // of the last piece
};

struct RecordingEnded {
  uint64_t stream = 0;
  std::string_view capture = {};  // frames::write_capture_end()
  uint64_t notes_before = 0;      // number of the capture's notes that precede the trace maker's
};

// It never became a recording.
struct RecordingDropped {
  uint64_t stream = 0;
};

struct NotRecorded {
  uint64_t pid = 0;
  std::string why = {};
};

// All that a running process does from now on is recorded.
struct Attached {
  uint64_t pid = 0;
};

// The tracer is blocked in the kernel, and the programs that it traces may hang; a warning.
struct TracerWaits {
  uint64_t pid = 0;        // of the tracer
  std::string place = {};  // in the kernel; empty: unknown
  bool looks = false;      // it waits for a page of memory or of a file, which it will give up soon
};

struct AllEnded {
  model::ExitStatus exit = {};  // of the program that was started
};

struct StreamFigures {
  uint64_t stream = 0;
  uint64_t time_ns = 0;
  uint64_t lost_events = 0;
  uint64_t log_used_bytes = 0;
  uint64_t log_limit_bytes = 0;
  std::optional<uint64_t> paused_by_tracer_ns = {};
};

struct ReportWanted {
  std::optional<uint64_t> pid = {};
  uint64_t reason = 0;  // ReportReason
};
enum ReportReason : uint8_t {
  kReportBySignal = 1,   // signal to the process
  kReportByConsole = 2,  // console at the target
};

// A module's file.
struct FilePlace {
  uint64_t stream = 0;
  uint64_t module = 0;  // by its number in the stream
};

struct FileWanted {
  FilePlace place = {};
  uint64_t offset = 0;
};

struct FileSettled {
  FilePlace place = {};
};

struct FilePiece {
  FilePlace place = {};
  uint64_t offset = 0;
  std::optional<std::string> why_not = {};  // reason for failure: then the rest is empty
  uint64_t file_bytes = 0;                  // total
  std::string build_id = {};                // as bytes
  std::string bytes = {};
};

struct RowRequest {
  std::string build_id = {};             // as bytes
  std::string path = {};                 // in the target
  std::optional<uint64_t> address = {};  // link-time, without a row, or model::kNoRowAnywhere; none: no miss so far
};

struct RowsPiece {
  std::string build_id = {};
  std::string_view rows = {};  // model::encode(); empty: there are none
  bool more = false;
};

message::Message message_of(const Resume& resume);
message::Message message_of(const Received& received);
message::Message message_of(const RecordingBegun& begun);
message::Message message_of(const StreamBytes& bytes);
message::Message message_of(const CodeNames& names);
message::Message message_of(const ResidentSamples& samples);
message::Message message_of(const Marked& marked);
message::Message message_of(const BlocksWanted& wanted);
message::Message message_of(const BlocksPiece& piece);
message::Message message_of(const ScanPiece& piece);
message::Message message_of(const RecordingEnded& ended);
message::Message message_of(const RecordingDropped& dropped);
message::Message message_of(const NotRecorded& failed);
message::Message message_of(const Attached& attached);
message::Message message_of(const TracerWaits& waits);
message::Message message_of(const AllEnded& ended);
message::Message message_of(const StreamFigures& figures);
message::Message message_of(const ReportWanted& wanted);
message::Message message_of(const FileWanted& wanted);
message::Message message_of(const FileSettled& settled);
message::Message message_of(const FilePiece& piece);
message::Message message_of(const RowRequest& request);
message::Message message_of(const RowsPiece& piece);
// Those without fields.
message::Message message_of(Kind kind);
// In place of a greeting.
message::Message refusal_of_line(std::string_view why);

// Of any message about a stream; 0: none.
uint64_t stream_in(const message::Fields& fields);

Resume decode_resume(const message::Fields& fields);
Received decode_received(const message::Fields& fields);
RecordingBegun decode_recording_begun(const message::Fields& fields);
StreamBytes decode_stream_bytes(const message::Fields& fields);
CodeNames decode_code_names(const message::Fields& fields);
ResidentSamples decode_resident_samples(const message::Fields& fields);
Marked decode_marked(const message::Fields& fields);
BlocksWanted decode_blocks_wanted(const message::Fields& fields);
BlocksPiece decode_blocks_piece(const message::Fields& fields);
ScanPiece decode_scan_piece(const message::Fields& fields);
RecordingEnded decode_recording_ended(const message::Fields& fields);
NotRecorded decode_not_recorded(const message::Fields& fields);
Attached decode_attached(const message::Fields& fields);
TracerWaits decode_tracer_waits(const message::Fields& fields);
AllEnded decode_all_ended(const message::Fields& fields);
StreamFigures decode_stream_figures(const message::Fields& fields);
// None: figures.
std::optional<ReportWanted> decode_report_wanted(const message::Fields& fields);
FileWanted decode_file_wanted(const message::Fields& fields);
FileSettled decode_file_settled(const message::Fields& fields);
// None: it doesn't have its place.
std::optional<FilePiece> decode_file_piece(const message::Fields& fields);
RowRequest decode_row_request(const message::Fields& fields);
RowsPiece decode_rows_piece(const message::Fields& fields);

}  // namespace heaptap::line
