// Comparison of recordings: each stack's figures in each recording, matched, sorted and named. Renderers use nothing else. An unknown
// figure is empty, never 0; of a stack that a recording doesn't have it is 0, if the recording knows that figure.
#pragma once
#include <array>
#include <bitset>
#include <boost/container/small_vector.hpp>
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

// Unknown unless they are set.
class Figures {
 public:
  std::optional<uint64_t> operator[](Figure figure) const {
    return is_known(static_cast<size_t>(figure)) ? std::optional(values_[static_cast<size_t>(figure)]) : std::nullopt;
  }
  void set(Figure figure, std::optional<uint64_t> value) {
    const auto place = static_cast<size_t>(figure);
    values_[place] = value.value_or(0);
    known_.set(place, value.has_value());
  }
  // Unknown if either operand is.
  Figures& operator+=(const Figures& other);
  bool operator==(const Figures&) const = default;

 private:
  [[nodiscard]] bool is_known(size_t place) const { return known_[place]; }

  std::array<uint64_t, kFigureCount> values_{};  // 0 where it is unknown
  std::bitset<kFigureCount> known_;
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

// Nearly all lists have one.
using StackIds = boost::container::small_vector<uint64_t, 1>;

// A stack's part in one recording.
struct StackSide {
  // That recording's stacks, as `show` numbers them: several where their lines are the same; none.
  StackIds ids;
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
