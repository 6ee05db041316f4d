// Activity over time and over the heap, for interactive reports: rows that a reader filters and adds up. Stacks are indexes into
// Report::stacks.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/report/leak_views.h"

namespace heaptap::report {

// Counts of one stack, thread and size class in one interval. A release counts under its block's stack, thread and size. Of mappings the
// bytes are those of memory: what is reserved, or of a file, is beside.
struct ActivityCell {
  uint32_t stack = 0;
  uint32_t thread = 0;
  uint32_t process = 0;  // in a run: index into Report::processes
  uint32_t bin = 0;
  uint8_t size_class = 0;
  uint64_t allocations = 0;
  uint64_t allocated_bytes = 0;
  uint64_t releases = 0;
  uint64_t released_bytes = 0;
  uint64_t temporary = 0;  // among the releases
};

// Verdict on a block that is live at the end.
enum class LeftState : uint8_t { kNoScan, kReachable, kDefinite, kIndirect, kPossible, kSuppressed, kUnknown };

// Blocks live at the end, by the interval of their allocation.
struct LeftCell {
  uint32_t stack = 0;
  uint32_t thread = 0;
  uint32_t process = 0;  // in a run: index into Report::processes
  uint32_t bin = 0;
  uint8_t size_class = 0;
  LeftState state = LeftState::kNoScan;
  uint64_t blocks = 0;
  uint64_t bytes = 0;
};

struct Activity {
  uint64_t start_ns = 0;
  uint64_t width_ns = 0;
  uint32_t bin_count = 0;
  std::vector<ActivityCell> cells;  // ordered by bin
  std::vector<LeftCell> left;
};

// Sorts by interval, stack, thread and size, and merges cells with equal keys.
void unite(std::vector<ActivityCell>& cells);
void unite(std::vector<LeftCell>& cells);

// Page, or several pages, with live blocks.
struct PageUse {
  uint64_t address = 0;
  uint64_t live_bytes = 0;
  uint64_t blocks = 0;  // that overlap it
  uint32_t stack = 0;   // the one with most bytes there
};

// Address range of neighbouring live blocks, with no gap above `max_gap_bytes`: an approximation of the heap's parts, since a trace
// doesn't have the mappings themselves.
struct BlockSpan {
  uint64_t address = 0;
  uint64_t length = 0;
  uint64_t live_bytes = 0;
  uint64_t blocks = 0;
  uint64_t touched_bytes = 0;  // of the CPU's pages with live blocks
};

struct AddressSpace {
  uint64_t page_bytes = 0;  // may be several of the CPU's pages
  std::vector<PageUse> pages;
  uint64_t max_gap_bytes = 0;
  std::vector<BlockSpan> spans = {};
};

// Pointers between stacks' blocks, as a graph.
struct StackGraph {
  struct Node {
    std::optional<NamedRoot> root;  // empty if it is a stack
    uint32_t stack = 0;             // meaningless if it is a root
    BlockCount blocks;              // of the stack, in the scan
  };
  struct Edge {
    uint32_t from = 0;  // indexes into `nodes`
    uint32_t to = 0;
    uint64_t count = 0;  // pointers
  };
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  uint64_t left_out = 0;  // stacks without a node
};

// Holders of a stack's blocks.
struct StackHolders {
  uint32_t stack = 0;
  Holders holders;
};

}  // namespace heaptap::report
