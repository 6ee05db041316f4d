#include "capture/scan/memory_plan.h"

#include <algorithm>

namespace heaptap::scan {
namespace {

constexpr uint64_t kSmallGapBytes = 16 << 10;
constexpr uint64_t kLargeBlockBytes = 64 << 10;

uint64_t round_up(uint64_t address, unsigned word_bytes) {
  return (address + word_bytes - 1) / word_bytes * word_bytes;
}

// Adds the touched parts of the range.
void add_touched(base::AddressRange range, unsigned word_bytes, CountedMemory& memory, MemoryPlan& plan) {
  if (range.begin >= range.end) return;
  uint64_t at = range.begin;
  for (const base::AddressRange& touched : memory.touched(range)) {
    const uint64_t begin = round_up(std::max(touched.begin, at), word_bytes);
    const uint64_t end = std::min(touched.end, range.end) / word_bytes * word_bytes;
    if (begin >= end) continue;
    plan.push_back({begin, end});
    at = end;
  }
}

}  // namespace

MemoryPlan plan_blocks(std::span<const model::ScannedBlock> blocks, unsigned word_bytes, CountedMemory& memory) {
  MemoryPlan plan;
  base::AddressRange run;
  for (const model::ScannedBlock& block : blocks) {
    const uint64_t begin = block.address / word_bytes * word_bytes;
    const uint64_t end = (block.address + block.size_bytes) / word_bytes * word_bytes;
    if (begin > run.end + kSmallGapBytes) {
      add_touched(run, word_bytes, memory, plan);
      run = {begin, begin};
    }
    run.end = std::max(run.end, end);
  }
  add_touched(run, word_bytes, memory, plan);
  return plan;
}

MemoryPlan plan_range(base::AddressRange range, bool without_blocks, std::span<const model::ScannedBlock> blocks,
                      unsigned word_bytes, CountedMemory& memory) {
  MemoryPlan plan;
  range.begin = round_up(range.begin, word_bytes);
  if (without_blocks) {
    auto block = std::upper_bound(blocks.begin(), blocks.end(), range.begin,
                                  [](uint64_t at, const model::ScannedBlock& each) { return at < each.address; });
    if (block != blocks.begin()) --block;
    for (; block != blocks.end() && block->address < range.end; ++block) {
      if (block->size_bytes < kLargeBlockBytes || block->address + block->size_bytes <= range.begin) continue;
      add_touched({range.begin, block->address}, word_bytes, memory, plan);
      range.begin = round_up(block->address + block->size_bytes, word_bytes);
    }
  }
  add_touched(range, word_bytes, memory, plan);
  return plan;
}

}  // namespace heaptap::scan
