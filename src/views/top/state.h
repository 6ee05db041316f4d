// User-selected display state. Keys change it (keys.h), pictures are made from it (picture.h).
#pragma once
#include <array>
#include <cstdint>
#include <string>

namespace heaptap::top {

enum class Grouping : uint8_t { kStacks, kThreads, kModules };
inline constexpr size_t kGroupingCount = 3;

// Figures of a row.
enum class Figure : uint8_t {
  kLive,
  kBlocks,
  kGrowth,
  kRate,   // allocated bytes per second
  kCalls,  // allocations per second
  kAge,    // of live blocks
  kLifetime,
  kTemporary,
  kLeaked,
  kAllocated,
  kAllocations,
  kReleases,
  kStacks,
};
inline constexpr size_t kFigureCount = 13;

enum class Mode : uint8_t { kRows, kStack, kHelp, kFilter, kMark };

struct State {
  Mode mode = Mode::kRows;
  Grouping grouping = Grouping::kStacks;
  std::array<Figure, kGroupingCount> sorts{Figure::kLive, Figure::kAllocated, Figure::kLive};  // by Grouping
  bool reversed = false;                                                                       // smallest first
  std::string filter;
  std::string kept_filter;  // restored by Esc while another one is typed
  std::string input;        // a mark's name, as typed so far
  size_t cursor = 0;        // selected row
  uint64_t followed = 0;    // its key: it stays selected when rows move; 0: none
  size_t first = 0;         // first visible row
  size_t scrolled = 0;      // first visible line of a stack's page or of the help
  uint64_t opened = 0;      // stack whose page is shown
  bool frozen = false;
  bool sums_up_libraries = true;  // their memory is one row, unless a filter is set, or there are no other stacks

  void select_first_row() { cursor = first = followed = 0; }
  [[nodiscard]] Figure sort() const { return sorts[static_cast<size_t>(grouping)]; }
  bool operator==(const State&) const = default;
};

}  // namespace heaptap::top
