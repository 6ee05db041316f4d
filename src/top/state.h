// What a user chose to see. Keys change it (keys.h), pictures are made of it (picture.h).
#pragma once
#include <array>
#include <cstdint>
#include <string>

namespace heaptap::top {

enum class Grouping : uint8_t { kStacks, kThreads, kModules };
inline constexpr size_t kGroupingCount = 3;

// What a row has in figures.
enum class Figure : uint8_t {
  kLive,
  kBlocks,
  kGrowth,
  kRate,   // allocated bytes a second
  kCalls,  // allocations a second
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
  bool reversed = false;                                                                       // the smallest first
  std::string filter;
  std::string kept_filter;  // what Esc gives back while another one is typed
  std::string input;        // a mark's name, as far as it is typed
  size_t cursor = 0;        // the selected row,
  uint64_t followed = 0;    // and what it is: it stays selected when rows change places; 0: whatever is there
  size_t first = 0;         // the row that is shown first
  size_t scrolled = 0;      // lines of a stack's page or of the help
  uint64_t opened = 0;      // the stack whose page is shown
  bool frozen = false;

  [[nodiscard]] Figure sort() const { return sorts[static_cast<size_t>(grouping)]; }
  bool operator==(const State&) const = default;
};

}  // namespace heaptap::top
