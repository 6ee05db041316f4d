// Comparison of recordings: each stack's figures in each recording, matched, sorted and named. Renderers use nothing else. An unknown
// figure is empty, never 0; of a stack that a recording doesn't have it is 0, if the recording knows that figure.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/report.h"

namespace heaptap::report {

enum class Figure : uint8_t {
  kLiveBytes,
  kLiveBlocks,
  kPeakBytes,  // of a stack: at the process's peak
  kAllocatedBytes,
  kAllocations,
  kReleasedBytes,
  kReleases,
  kTemporary,
  kLeakedBytes,  // definitely or indirectly lost
  kLeakedBlocks,
};
inline constexpr size_t kFigureCount = 10;

struct FigureFacts {
  Figure figure;
  std::string_view key;   // in JSON
  std::string_view word;  // in text, and of --sort
  bool is_bytes;
};
// In order of Figure.
const std::array<FigureFacts, kFigureCount>& figures();
const FigureFacts& facts_of(Figure figure);

class Figures {
 public:
  std::optional<uint64_t>& operator[](Figure figure) { return values_[static_cast<size_t>(figure)]; }
  const std::optional<uint64_t>& operator[](Figure figure) const { return values_[static_cast<size_t>(figure)]; }
  // Unknown if either operand is.
  Figures& operator+=(const Figures& other);
  bool operator==(const Figures&) const = default;

 private:
  std::array<std::optional<uint64_t>, kFigureCount> values_;
};
Figures figures_of(const StackEntry& stack);
Figures figures_of(const Report& report);

// Change of a stack from the first recording to the last.
enum class StackState : uint8_t {
  kNew,    // only in the last one
  kGone,   // only in the first one
  kGrown,  // by the sort figure
  kShrunk,
  kSame,
  kUnknown,  // the sort figure is unknown
};
inline constexpr size_t kStackStateCount = 6;
std::string_view name_of(StackState state);

// A stack's part in one recording.
struct StackSide {
  // That recording's stacks, as `show` numbers them: several where their lines are the same; none.
  std::vector<uint64_t> ids;
  Figures figures;
};

struct ComparedStack {
  std::string function;
  std::string variant;
  bool mapping = false;  // mmap and the like: not in the totals
  Purpose purpose = Purpose::kProgram;
  std::vector<StackSide> sides;  // one per recording
  StackState state = StackState::kSame;
  bool moved = false;       // its lines, or frames in between, differ
  bool growing = false;     // three recordings or more: it never shrank between two, and grew
  FramePath frames;         // innermost first, from the last recording that has it
  FramePath frames_before;  // if it moved: from the first one

  [[nodiscard]] std::optional<int64_t> change(Figure figure) const;
};

// One recording, or one moment of it.
struct Recording {
  Report report;                  // totals and capture, without lists
  std::optional<uint64_t> at_ns;  // state at this time
  Figures totals;
};

struct Comparison {
  std::vector<Recording> recordings;  // two or more, in order
  std::vector<ComparedStack> stacks;  // with a change above the floor, largest first
  Figure sort = Figure::kLiveBytes;
  std::array<uint64_t, kStackStateCount> states{};  // number of stacks in each state, listed or not
  uint64_t stack_count = 0;
  uint64_t moved_count = 0;
  uint64_t below_floor = 0;                    // changed and not listed
  uint64_t unchanged = 0;                      // not listed
  std::vector<std::string> unmatched_modules;  // changed between the recordings, and without function names
  FrameTable frames;

  [[nodiscard]] FrameList list(FramePath path) const { return frames.list(path); }
  [[nodiscard]] std::optional<int64_t> change(Figure figure) const;  // of the totals
};

std::optional<int64_t> change_of(const std::optional<uint64_t>& before, const std::optional<uint64_t>& after);

}  // namespace heaptap::report
