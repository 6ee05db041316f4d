// Leak classification of blocks. It needs only the scan, so it can be repeated with other options.
//
//   reachable   a path of certain pointers leads to it from a root, or its site is in held_sites
//   possible    paths lead to it, but each has an uncertain pointer: into the middle of a block or to its end, with tag bits set,
//               or a distance from another block, any of which may be chance
//   definite    lost: no path, and no other lost block points to it, except blocks that it leads to itself (a cycle)
//   indirect    lost below a definitely lost block: reachable again if that one were
//
//   unknown     no path leads to it, but its release may have gone unseen (HeapScan::lives)
//
// Each block has exactly one state, so the sums are the live blocks. Blocks known to be free are unknown too, and hold nothing.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "common/model/heap_scan.h"

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
  uint8_t roots = wire::kAllRootKinds;   // bits of wire::root_bit: kinds of roots that keep blocks alive
  uint16_t heuristics = kAllHeuristics;  // bits of pointer_bit: pointers of kinds left out count as kInterior
  uint16_t overlooked = 0;               // bits of pointer_bit: pointers of these kinds are ignored
  // By site, 1: its blocks are held from outside the scan. That alone doesn't hold the blocks they point to.
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

// Definitely lost block and the blocks lost below it. A block below several leaders belongs to the first.
struct LostGroup {
  uint32_t leader;      // index into HeapScan::blocks; of a cycle the block allocated first
  BlockTotal indirect;  // without the leader
};

struct Classification {
  std::vector<BlockState> states;  // by index into HeapScan::blocks
  // Of each lost block the leader of its group, of a leader itself; of others model::kNoBlock.
  std::vector<uint32_t> leaders;
  std::vector<LostGroup> groups;  // in order of the leaders' allocation
  std::array<BlockTotal, kBlockStateCount> totals;

  [[nodiscard]] const BlockTotal& total(BlockState state) const { return totals[static_cast<size_t>(state)]; }
};

// The scan's indexes must be in bounds, as leak scans and trace readers ensure.
[[nodiscard]] Classification classify(const model::HeapScan& scan, const LeakOptions& options = {});

// First step of classify(), independent of `held_sites`: states of blocks reached from roots, all others kDefinite.
[[nodiscard]] std::vector<BlockState> reach(const model::HeapScan& scan, const LeakOptions& options = {});
// Second step, with the first one's result for the same scan and options.
[[nodiscard]] Classification classify_reached(const model::HeapScan& scan, const LeakOptions& options,
                                              std::vector<BlockState> reached);

// By block, bits of wire::root_bit: kinds of roots of `options` that lead to it, certainly or possibly.
[[nodiscard]] std::vector<uint8_t> held_by_kinds(const model::HeapScan& scan, const LeakOptions& options = {});

// Owners of what roots lead to. Of several that lead to one block the first one counts: what a variable holds stays, whereas a word
// on a stack may be stale.
enum class RootOwner : uint8_t { kGlobals, kThreadLocals, kMappings, kStacks };
inline constexpr unsigned kRootOwnerCount = 4;
// `kinds`: one bit of wire::root_bit or more.
[[nodiscard]] RootOwner owner_among(uint8_t kinds);

}  // namespace heaptap::leaks
