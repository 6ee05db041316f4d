// The Comparison of recordings: the figures of each stack in each of them, matched, sorted and named. Renderers know only this.
// Where a figure isn't known it is empty, never 0; of a recording without the stack it is 0, where that recording knows it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/render.h"
#include "report/report.h"

namespace heaptap::report {

enum class Figure : uint8_t {
  kLiveBytes,
  kLiveBlocks,
  kPeakBytes,  // of a stack: at the moment of the process's peak
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
  std::string_view word;  // for people, and of --sort
  bool is_bytes;
};
// In the order of Figure.
const std::array<FigureFacts, kFigureCount>& figures();
const FigureFacts& facts_of(Figure figure);

class Figures {
 public:
  std::optional<uint64_t>& operator[](Figure figure) { return values_[static_cast<size_t>(figure)]; }
  const std::optional<uint64_t>& operator[](Figure figure) const { return values_[static_cast<size_t>(figure)]; }
  // Unknown where one of the two is.
  Figures& operator+=(const Figures& other);
  bool operator==(const Figures&) const = default;

 private:
  std::array<std::optional<uint64_t>, kFigureCount> values_;
};
Figures figures_of(const StackEntry& stack);
Figures figures_of(const Report& report);

// What became of a stack from the first recording to the last one.
enum class StackState : uint8_t {
  kNew,    // only in the last one
  kGone,   // only in the first one
  kGrown,  // by the figure that is sorted by
  kShrunk,
  kSame,
  kUnknown,  // that figure isn't known
};
inline constexpr size_t kStackStateCount = 6;
std::string_view name_of(StackState state);

// One recording's part of a stack.
struct StackSide {
  std::vector<uint64_t>
      ids;  // that recording's stacks, as `show` numbers them: several where their lines are the same; none
  Figures figures;
};

struct ComparedStack {
  std::string function;
  std::string variant;
  bool mapping = false;          // mmap and its kin: not in the totals
  std::vector<StackSide> sides;  // one a recording
  StackState state = StackState::kSame;
  bool moved = false;                     // its lines, or functions between, differ
  bool growing = false;                   // three recordings or more: it never shrank from one to the next, and grew
  std::vector<FrameIndex> frames;         // innermost first, of the last recording that has it
  std::vector<FrameIndex> frames_before;  // where it moved: of the first one

  [[nodiscard]] std::optional<int64_t> change(Figure figure) const;
};

// One recording, or one moment of it.
struct Recording {
  Report report;                  // its totals and what it says about itself, without lists
  std::optional<uint64_t> at_ns;  // as it was then
  Figures totals;
};

struct Comparison {
  std::vector<Recording> recordings;  // two or more, in order
  std::vector<ComparedStack> stacks;  // those that changed more than the floor, largest change first
  Figure sort = Figure::kLiveBytes;
  std::array<uint64_t, kStackStateCount> states{};  // how many stacks, listed or not
  uint64_t stack_count = 0;
  uint64_t moved_count = 0;
  uint64_t below_floor = 0;                    // changed, and aren't listed
  uint64_t unchanged = 0;                      // aren't listed
  std::vector<std::string> unmatched_modules;  // differ between the recordings, and their functions have no names
  std::vector<model::Frame> frames;            // each once

  [[nodiscard]] FrameList list(const std::vector<FrameIndex>& indices) const { return {frames, indices}; }
  [[nodiscard]] std::optional<int64_t> change(Figure figure) const;  // of the totals
};

// Which figures it doesn't have, and what makes those that it has doubtful: a sentence each. `leaks`: what leaks is asked for.
std::vector<std::string> missing_of(const Recording& recording, bool leaks);
std::vector<std::string> doubts_of(const Recording& recording, bool leaks);

// What makes any of the recordings doubtful, and what of them couldn't be matched: a sentence each.
std::vector<std::string> remarks_of(const Comparison& comparison);

std::optional<int64_t> change_of(const std::optional<uint64_t>& before, const std::optional<uint64_t>& after);

// For people: "1.0 KiB", "unknown"; "+1.0 KiB"; "+12.5%", of nothing there is no part.
std::string value_text(Figure figure, const std::optional<uint64_t>& value);
std::string change_text(Figure figure, const std::optional<int64_t>& change);
std::string percent_text(const std::optional<int64_t>& change, const std::optional<uint64_t>& before);
// "before", "after"; of a series "1", "2", …
std::string label_of(const Comparison& comparison, size_t number);

struct ComparisonOptions {
  bool color = false;
  size_t limit = 10;  // stacks; 0: all
  size_t depth = 8;   // frames of each; 0: all
};
std::string render_comparison(const Comparison& comparison, const ComparisonOptions& options);
// heaptap-diff, version 1: docs/json.md.
void write_comparison_json(const Comparison& comparison, const Write& write);

}  // namespace heaptap::report
