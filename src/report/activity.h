// What happened when, for reports that are looked at from many sides: rows that a reader selects and adds up. Stacks are
// places in Report::stacks.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "report/leak_views.h"

namespace heaptap::report {

// Of the blocks of one stack, thread and size class in one interval. A release counts for its block's stack, thread and size.
struct ActivityCell {
  uint32_t stack = 0;
  uint32_t thread = 0;
  uint32_t process = 0;  // of a run: place in Report::processes
  uint32_t bin = 0;
  uint8_t size_class = 0;
  uint64_t allocations = 0;
  uint64_t allocated_bytes = 0;
  uint64_t releases = 0;
  uint64_t released_bytes = 0;
  uint64_t temporary = 0;  // among the releases
};

// What became of a block that is alive at the end.
enum class LeftState : uint8_t { kNoScan, kReachable, kDefinite, kIndirect, kPossible, kSuppressed, kUnknown };

// What is alive at the end, by the interval in which it was allocated.
struct LeftCell {
  uint32_t stack = 0;
  uint32_t thread = 0;
  uint32_t process = 0;  // of a run: place in Report::processes
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
  std::vector<ActivityCell> cells;  // in order of bins
  std::vector<LeftCell> left;
};

// Sorts by interval, stack, thread and size, and makes one cell of those that are the same.
void unite(std::vector<ActivityCell>& cells);
void unite(std::vector<LeftCell>& cells);

// A page, or several of them, that holds live blocks.
struct PageUse {
  uint64_t address = 0;
  uint64_t live_bytes = 0;
  uint64_t blocks = 0;  // that begin there or before and reach into it
  uint32_t stack = 0;   // that has most bytes there
};

// Addresses from a live block to another one, with none further than `max_gap_bytes` from the next: what blocks show of the heap's
// parts. A trace doesn't have the mappings themselves.
struct BlockSpan {
  uint64_t address = 0;
  uint64_t length = 0;
  uint64_t live_bytes = 0;
  uint64_t blocks = 0;
  uint64_t touched_bytes = 0;  // of the CPU's pages that live blocks lie in
};

struct AddressSpace {
  uint64_t page_bytes = 0;  // may be several of the CPU's
  std::vector<PageUse> pages;
  uint64_t max_gap_bytes = 0;
  std::vector<BlockSpan> spans = {};
};

// Which stacks' blocks point to which.
struct StackGraph {
  struct Node {
    std::optional<NamedRoot> root;  // empty of a stack
    uint32_t stack = 0;             // meaningless of a root
    BlockCount blocks;              // of the stack, in the scan
  };
  struct Edge {
    uint32_t from = 0;  // places in `nodes`
    uint32_t to = 0;
    uint64_t count = 0;  // pointers
  };
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  uint64_t left_out = 0;  // stacks that have no node
};

// How a stack's blocks are held.
struct StackHolders {
  uint32_t stack = 0;
  Holders holders;
};

}  // namespace heaptap::report
