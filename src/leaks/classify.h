// Which blocks are lost. Concluded from a scan alone, so that it can be done again with other options.
//
//   reachable   a path of certain pointers leads from a root to it, or its site is one whose blocks are always held
//   possible    paths lead to it, but each has a pointer into the middle of a block, or one with other bits set, or the distance from
//               another block, which may be chance
//   definite    lost: no path at all, and no other lost block leads to it, but those that it leads to itself (a cycle)
//   indirect    lost below a definitely lost one: it would be found again with it
//
//   unknown     no path leads to it, but it may have been released without that having been seen (HeapScan::lives)
//
// Each block is one of them, so their sums are the live blocks. What is free for certain is unknown as well, and holds nothing.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "model/heap_scan.h"

namespace heaptap::leaks {

enum class BlockState : uint8_t { kReachable = 0, kPossible = 1, kIndirect = 2, kDefinite = 3, kUnknown = 4 };
inline constexpr unsigned kBlockStateCount = 5;
constexpr bool is_lost(BlockState state) { return state == BlockState::kIndirect || state == BlockState::kDefinite; }

constexpr uint16_t pointer_bit(wire::PointerKind kind) {
  return static_cast<uint16_t>(1u << static_cast<unsigned>(kind));
}
inline constexpr uint16_t kAllHeuristics =
    pointer_bit(wire::PointerKind::kArrayCookie) | pointer_bit(wire::PointerKind::kMultipleInheritance) |
    pointer_bit(wire::PointerKind::kStdString) | pointer_bit(wire::PointerKind::kLength64) |
    pointer_bit(wire::PointerKind::kHeader) | pointer_bit(wire::PointerKind::kMarked) |
    pointer_bit(wire::PointerKind::kAligned);

struct LeakOptions {
  uint8_t roots = wire::kAllRootKinds;   // bits of wire::root_bit: which kinds of roots keep blocks alive
  uint16_t heuristics = kAllHeuristics;  // bits of pointer_bit: pointers of a kind left out count as kInterior
  uint16_t overlooked = 0;               // bits of pointer_bit: pointers of these kinds count as none
  // By site, 1: its blocks are held by something that no scan sees. What they lead to is not held for that alone.
  std::vector<uint8_t> held_sites = {};

  [[nodiscard]] bool is_root(wire::RootKind kind) const { return (roots & wire::root_bit(kind)) != 0; }
  [[nodiscard]] bool holds(model::SiteId site) const { return site < held_sites.size() && held_sites[site] != 0; }
  [[nodiscard]] bool counts(wire::PointerKind kind) const { return (overlooked & pointer_bit(kind)) == 0; }
  [[nodiscard]] bool is_certain(wire::PointerKind kind) const {
    return kind == wire::PointerKind::kStart || (heuristics & pointer_bit(kind)) != 0;
  }
};

struct BlockTotal {
  uint64_t blocks = 0;
  uint64_t bytes = 0;
};

// A definitely lost block and what is lost below it. What is below several belongs to the first of them.
struct LostGroup {
  uint32_t leader;      // index into HeapScan::blocks. Of a cycle the block that was allocated first
  BlockTotal indirect;  // without the leader
};

struct Classification {
  std::vector<BlockState> states;  // of HeapScan::blocks
  std::vector<uint32_t>
      leaders;  // of each lost block the leader of its group, of a leader itself; of others model::kNoBlock
  std::vector<LostGroup> groups;  // in the order in which their leaders were allocated
  std::array<BlockTotal, kBlockStateCount> totals;

  [[nodiscard]] const BlockTotal& total(BlockState state) const { return totals[static_cast<size_t>(state)]; }
};

// The scan's indexes must be within bounds, as a leak scan and a trace's reader make them.
[[nodiscard]] Classification classify(const model::HeapScan& scan, const LeakOptions& options = {});

// The first half of it, which doesn't look at `held_sites`: what paths from roots lead to, all else kDefinite.
[[nodiscard]] std::vector<BlockState> reach(const model::HeapScan& scan, const LeakOptions& options = {});
// The second one, with what the first gave for the same scan and options.
[[nodiscard]] Classification classify_reached(const model::HeapScan& scan, const LeakOptions& options,
                                              std::vector<BlockState> reached);

// For each block: 1 if roots of the kinds `only` lead to it, surely or possibly, and no other root of `options` does.
// With wire::root_bit(kGlobal): what is held by global variables alone, so what only grows if nobody takes it out.
[[nodiscard]] std::vector<uint8_t> held_only_by(const model::HeapScan& scan, uint8_t only,
                                                const LeakOptions& options = {});

}  // namespace heaptap::leaks
