// The control protocol: what a client (console, top, leaks, mark) and a heaptap that records say to each other over a stream.
// Versioned, neutral in byte order and word size, described in docs/wire.md. Nothing in a message is trusted.
//
//   message  ┌ bytes behind this: 4, little-endian ┬ kind: varint │ number: varint ┬ field ┬ field ┬ … ┐
//   field    ┌ which: varint │ bytes: varint ┬ a text, or one varint ┐
//
// Each side begins with a kHello. A request has a number, its answer has the same. News have number 0, and come at any time.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heaptap::control {

inline constexpr uint32_t kMajorVersion = 1;  // another one isn't spoken with
inline constexpr uint32_t kMinorVersion = 0;  // a greater one only adds kinds and fields
inline constexpr size_t kMaxRequestBytes = size_t{64} << 10;
inline constexpr size_t kMaxAnswerBytes = size_t{16} << 20;

enum class Kind : uint8_t {
  kHello = 1,
  kAnswer = 2,
  kRefusal = 3,  // of a request: kText says why, kErrorKind how bad it is
  kNews = 4,

  // Requests. kPid says of which process; without it of all, or of the first.
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
  kSnapshot = 26,  // closes what isn't written yet; the answer says how far the trace goes, and brings its descriptor
  kDetach = 27,
  kKill = 28,
  kSubscribe = 29,  // to news
};

enum class Field : uint8_t {
  kMajor = 1,  // of the protocol
  kMinor = 2,
  kText = 3,  // of a refusal, of news
  kErrorKind = 4,
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
};

enum class NewsKind : uint8_t {
  kBegan = 1,     // a process is recorded from now on: kParentPid, kText its program
  kExecuted = 2,  // it goes on as another program: kText
  kEnded = 3,     // kExitCode or kExitSignal, where one is known
  kDetached = 4,
  kScanned = 5,  // kNumber
  kMarked = 6,   // kNumber, kText its name
  kSwitchedOn = 7,
  kSwitchedOff = 8,
};

class Fields {
 public:
  void add(Field field, uint64_t number);
  void add(Field field, std::string_view text);
  void add(Field field, const char* text) { add(field, std::string_view(text)); }
  void add(Field field, bool flag) { add(field, uint64_t{flag}); }
  void add(Field field, uint32_t number) { add(field, uint64_t{number}); }
  void add(Field field, const Fields& entry) { add(field, std::string_view(entry.bytes())); }
  template <typename Number>
  void add_known(Field field, const std::optional<Number>& number) {
    if (number) add(field, static_cast<uint64_t>(*number));
  }

  // Of several the first.
  [[nodiscard]] std::optional<uint64_t> number(Field field) const;
  [[nodiscard]] std::optional<std::string_view> text(Field field) const;
  [[nodiscard]] uint64_t number_or_0(Field field) const { return number(field).value_or(0); }
  [[nodiscard]] uint32_t small_number(Field field) const;  // 0 where there is none, or it is too large
  [[nodiscard]] std::string text_or_empty(Field field) const { return std::string(text(field).value_or("")); }
  [[nodiscard]] std::vector<std::string_view> texts(Field field) const;

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  // None: these are no fields.
  static std::optional<Fields> read(std::string_view bytes);

 private:
  std::string bytes_;
  struct Place {
    Field field;
    size_t begin;
    size_t size;
  };
  std::vector<Place> places_;
};

struct Message {
  Kind kind = Kind::kHello;
  uint64_t number = 0;
  Fields fields;
};

std::string encode(const Message& message);
Message hello();

// Takes bytes as they come, and gives the messages in them.
class MessageReader {
 public:
  // A longer message is no message.
  explicit MessageReader(size_t max_bytes) : max_bytes_(max_bytes) {}

  void add(std::string_view bytes) { bytes_ += bytes; }
  // None: there is no whole one yet, or what comes is no message of this protocol: is_sound() turns false for good.
  std::optional<Message> next();
  [[nodiscard]] bool is_sound() const { return is_sound_; }
  [[nodiscard]] size_t waiting_bytes() const { return bytes_.size(); }

 private:
  size_t max_bytes_;
  std::string bytes_;
  bool is_sound_ = true;
};

}  // namespace heaptap::control
