#include "analysis/query/lost_cycles.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>

namespace heaptap::query {
namespace {

constexpr size_t kMaxVisited = 10'000;

// Calls visit(to) for each pointer to a lost block, other than that of a pool's block to its memory.
template <typename Visit>
void for_each_lost_target(const model::HeapScan& scan, const std::vector<leaks::BlockState>& states, uint32_t from,
                          const Visit& visit) {
  const uint32_t memory = memory_of(scan, from);
  for (uint32_t i = scan.pointers_begin[from]; i < scan.pointers_begin[from + 1]; ++i) {
    const uint32_t to = scan.pointers[i].to;
    if (to != from && to != memory && leaks::is_lost(states[to])) visit(to);
  }
}

}  // namespace

std::vector<uint8_t> find_in_cycles(const model::HeapScan& scan, const std::vector<leaks::BlockState>& states) {
  std::vector<uint8_t> in_cycles(states.size(), 0);
  for (uint32_t from = 0; from < states.size(); ++from) {
    if (!leaks::is_lost(states[from])) continue;
    for_each_lost_target(scan, states, from, [&](uint32_t to) {
      if (states[to] == leaks::BlockState::kDefinite) in_cycles[to] = 1;
    });
  }
  return in_cycles;
}

std::vector<uint32_t> cycle_through(const model::HeapScan& scan, const std::vector<leaks::BlockState>& states,
                                    uint32_t block) {
  boost::unordered_flat_map<uint32_t, uint32_t> before;  // by block: the one that led to it first
  std::vector<uint32_t> queue{block};
  uint32_t last = model::kNoBlock;
  for (size_t at = 0; at < queue.size() && last == model::kNoBlock; ++at) {
    const uint32_t from = queue[at];
    for_each_lost_target(scan, states, from, [&](uint32_t to) {
      if (to == block && last == model::kNoBlock) last = from;
      if (to != block && queue.size() < kMaxVisited && before.try_emplace(to, from).second) queue.push_back(to);
    });
  }
  std::vector<uint32_t> cycle;
  if (last == model::kNoBlock) return cycle;
  for (uint32_t each = last; each != block; each = before.at(each)) cycle.push_back(each);
  cycle.push_back(block);
  std::ranges::reverse(cycle);
  return cycle;
}

void name_cycles(const model::HeapScan& scan, const LeakCounts& counts, const StackIndex& index,
                 report::Report& report) {
  boost::unordered_flat_map<uint64_t, report::StackLeaks*> wanted;  // by stack
  for (report::StackEntry& stack : report.stacks) {
    if (stack.leaks && stack.leaks->in_cycles.blocks != 0) wanted.emplace(stack.id, &stack.leaks.edit());
  }
  for (const leaks::LostGroup& group : counts.classes().groups) {
    if (wanted.empty()) return;
    if (!counts.is_in_cycle(group.leader)) continue;
    const auto found = wanted.find(index.id_of(scan.blocks[group.leader].site));
    if (found == wanted.end()) continue;
    for (const uint32_t block : cycle_through(scan, counts.classes().states, group.leader)) {
      found->second->cycle.push_back(scan.blocks[block].number);
    }
    wanted.erase(found);
  }
}

}  // namespace heaptap::query
