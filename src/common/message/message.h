// Codec of messages, for the protocols between a recording heaptap and its clients, two machines, and a symbol server
// and its clients: over a stream, independent of byte order and word size, described in docs/wire.md. Messages are not
// trusted.
//
//   message  ┌ bytes after this: 4, little-endian ┬ kind: varint │ number: varint ┬ field ┬ field ┬ … ┐
//   field    ┌ which: varint │ bytes: varint ┬ a text, or one varint ┐
//
// An answer has its request's number. Messages that answer nothing and need no answer have number 0.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace heaptap::message {

// Number of a kind of message or of a field. Each protocol enumerates its own: the codec knows none of them.
struct Number {
  constexpr Number() = default;
  constexpr explicit Number(uint8_t number) : value(number) {}
  template <typename Enumeration>
    requires std::is_enum_v<Enumeration> && (sizeof(Enumeration) == sizeof(uint8_t))
  // NOLINTNEXTLINE(google-explicit-constructor,hicpp-explicit-conversions): an enumerator is its number
  constexpr Number(Enumeration each) : value(static_cast<uint8_t>(each)) {}
  bool operator==(const Number&) const = default;
  // For switches over one protocol's enumeration. A number that isn't in it is none of its enumerators.
  template <typename Enumeration>
  [[nodiscard]] constexpr Enumeration as() const {
    return static_cast<Enumeration>(value);
  }

  uint8_t value = 0;
};

inline constexpr uint32_t kFunctionsSinceMinor = 2;  // earlier ones don't answer kFunctionsWanted

enum class Kind : uint8_t {
  kNews = 4,

  // Requests. kPid names the process; without it all, or the first.
  kSettings = 16,
  kProcesses = 17,
  kFigures = 18,
  kMarks = 19,
  kStart = 20,
  kStop = 21,
  kReset = 22,
  kMark = 23,
  kScan = 24,
  kDepth = 25,
  kSnapshot = 26,  // writes all pending data; the answer has the trace's size, and its descriptor
  kDetach = 27,
  kKill = 28,
  kSubscribe = 29,  // to news

  // Between two machines (remote/). For the line itself:
  kResume = 64,    // after kHello: kSession, and kNumber of the messages received on this line so far
  kReceived = 65,  // kNumber, likewise
  kHeartbeat = 66,
  // From the host:
  kRecord = 70,    // kArgument, kEnvironment, kPid: what to record, and how; once
  kBlocks = 71,    // of kStream: kBytes, the live blocks after all received events
  kFarewell = 73,  // it has all data, or wants no more: the session is over
  kLetGo = 72,     // detaches from all processes
  // From the target's side:
  kRecording = 80,  // kStream begins: kCapture, kPid, kImage
  kBytes = 81,      // of kStream
  kMarked = 82,     // of kStream, after all of its bytes so far: kMarkKind, kName, kTimeNs
  kBlocksWanted = 83,
  kScanned = 84,      // of kStream: kBytes, in pieces; the last one has the rest
  kEnded = 85,        // kStream: kCapture
  kNotRecorded = 87,  // kPid, kText
  kAllEnded = 88,
  kFiguresNow = 89,  // of kStream
  kDropped = 90,     // kStream never became a recording
  // Files of modules, requested by the host one piece at a time.
  kFileWanted = 105,   // of kStream's kModule, from kOffset
  kFilePiece = 106,    // answer: the same fields, kFileBytes, kBuildId, kBytes; or kText with the reason for failure
  kFileSettled = 107,  // the host has it, or no longer wants it

  // To a symbol server (symbol_server/), by kBuildId.
  kSymbolLevels = 110,  // for each kBuildId: an entry with kLevel
  kFramesAt = 111,      // for kAddresses: kFrames, as many as there was room for
  kVariableAt = 112,    // for kAddress: kName, kFile, kLine, kBegin, kSizeBytes; none of them: unknown
  kRowsOf = 113,        // unwind rows: all as kRows, or kRow at kAddress alone
  // Unwind rows between two machines: the target's side's request, and the host's answer.
  kRowsWanted = 114,  // kBuildId, kName, kAddress, kArchitecture
  kRows = 115,        // kBuildId: kRows, in pieces (kMore); none: there are none
  // Function addresses of a program without symbols, likewise.
  kFunctionsWanted = 116,  // kBuildId, kName of the program, kEntry: names of the functions
  kFunctions = 117,        // kBuildId: an entry per function found: kName, kAddress, kIsLocal
  // Names of generated code, of kStream: kBytes, by the numbers of earlier codes.
  kCodeNames = 118,
};

enum class Field : uint8_t {
  kText = 3,  // as in CommonField
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
  kStops = 41,
  kMarkCount = 42,
  kScanCount = 43,

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
  kSignal = 70,  // its name: "TERM"

  // Between two machines.
  kSession = 80,  // 16 bytes; none: a new one
  kStream = 81,
  kBytes = 82,
  kCapture = 83,
  kEnvironment = 84,
  kOmit = 85,  // an object whose calls are no events, one each
  kNoCpp = 86,
  kLogBytes = 87,
  kReportSignal = 88,
  kUser = 89,
  kNotesBefore = 91,  // of kEnded: number of the capture's notes that precede the trace maker's
  kMore = 92,         // another piece follows
  kChecksum = 93,
  kReadBytes = 94,
  kSkippedBytes = 95,
  kStoppedNs = 96,
  kThreads = 97,
  kNote = 98,  // one each
  kReason = 99,
  kPooled = 104,       // blocks of pools: like blocks, with the pool's number above the size
  kCompression = 109,  // of kRecord: 0 automatic, 1 always, 2 never
  kTakesOver = 110,  // of kResume: the host requests a recording begun by the target's side; 2: also from another host
  kFetches = 120,    // the host may request files
  kModule = 121,     // by its number in kStream
  kOffset = 122,
  kFileBytes = 123,  // total
  kBuildId = 124,    // its bytes
  kQuestion = 125,   // of kBlocksWanted, and of the kBlocks that answer it
  kUnsettled = 126,  // of kBlocks: events whose meaning depends on later ones

  // Symbols.
  kLevel = 131,  // symbols::SymbolLevel
  kAddresses = 132,
  kFrames = 133,
  kAddress = 134,  // link-time
  kIsThreadLocal = 135,
  kFile = 136,
  kLine = 137,
  kBegin = 138,
  kSizeBytes = 139,
  kRows = 140,  // common/model/row_table.h
  kRow = 141,
  kBegins = 142,  // offset of kRows
  kArchitecture = 143,
  kIsLocal = 144,  // symbol of local binding
};

enum class NewsKind : uint8_t {
  kBegan = 1,     // a recording begins: kParentPid, kText its program
  kExecuted = 2,  // the process executes another program: kText
  kEnded = 3,     // kExitCode or kExitSignal, where known
  kDetached = 4,
  kScanned = 5,  // kNumber
  kMarked = 6,   // kNumber, kText its name
  kSwitchedOn = 7,
  kSwitchedOff = 8,
};

class Fields {
 public:
  void add(Number field, uint64_t number);
  void add(Number field, std::string_view text);
  void add(Number field, const char* text) { add(field, std::string_view(text)); }
  void add(Number field, bool flag) { add(field, uint64_t{flag}); }
  void add(Number field, uint32_t number) { add(field, uint64_t{number}); }
  void add(Number field, const Fields& entry) { add(field, std::string_view(entry.bytes())); }
  template <typename Value>
  void add_known(Number field, const std::optional<Value>& number) {
    if (number) add(field, static_cast<uint64_t>(*number));
  }

  // The first of several.
  [[nodiscard]] std::optional<uint64_t> number(Number field) const;
  [[nodiscard]] std::optional<std::string_view> text(Number field) const;
  [[nodiscard]] uint64_t number_or_0(Number field) const { return number(field).value_or(0); }
  [[nodiscard]] uint32_t small_number(Number field) const;  // 0 where it is missing or too large
  [[nodiscard]] std::string text_or_empty(Number field) const { return std::string(text(field).value_or("")); }
  [[nodiscard]] std::vector<std::string_view> texts(Number field) const;

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  // None: invalid.
  static std::optional<Fields> read(std::string_view bytes);

 private:
  std::string bytes_;
  struct Place {
    Number field;
    size_t begin;
    size_t size;
  };
  std::vector<Place> places_;
};

struct Message {
  Number kind;
  uint64_t number = 0;
  Fields fields;
};

std::string encode(const Message& message);

// Incremental parser of messages.
class MessageReader {
 public:
  // Longer messages are invalid.
  explicit MessageReader(size_t max_bytes) : max_bytes_(max_bytes) {}

  void add(std::string_view bytes);
  // None: no complete message yet, or invalid data: then is_sound() is false from then on.
  std::optional<Message> next();
  [[nodiscard]] bool is_sound() const { return is_sound_; }
  [[nodiscard]] size_t waiting_bytes() const { return bytes_.size() - read_; }

 private:
  size_t max_bytes_;
  std::string bytes_;
  size_t read_ = 0;  // of these
  bool is_sound_ = true;
};

}  // namespace heaptap::message
