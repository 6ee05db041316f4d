// Breadth-first marking of blocks along pointers, without recursion. It prefetches what the next blocks need, since a heap's graph
// fits no cache. Private to leaks/.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/model/heap_scan.h"

namespace heaptap::leaks {

namespace reach_ahead {
// Prefetch distances in blocks. Each must complete before the next depends on it, and its line still be cached when used.
inline constexpr size_t kBegin = 24;
inline constexpr size_t kPointers = 16;
inline constexpr size_t kMarks = 8;
inline constexpr uint32_t kMarkedPointers = 8;  // of one block; the CPU's own prefetcher covers the rest
}  // namespace reach_ahead

template <typename Mark>
void fetch_ahead(const model::HeapScan& scan, const std::vector<Mark>& marks, const std::vector<uint32_t>& queue,
                 size_t at) {
  using namespace reach_ahead;
  if (at + kMarks >= queue.size()) return;
  const uint32_t near = queue[at + kMarks];
  const uint32_t begin = scan.pointers_begin[near];
  const uint32_t end = std::min(scan.pointers_begin[near + 1], begin + kMarkedPointers);
  for (uint32_t i = begin; i < end; ++i) __builtin_prefetch(&marks[scan.pointers[i].to]);
  if (at + kPointers >= queue.size()) return;
  __builtin_prefetch(scan.pointers.data() + scan.pointers_begin[queue[at + kPointers]]);
  if (at + kBegin < queue.size()) __builtin_prefetch(&scan.pointers_begin[queue[at + kBegin]]);
}

// `queue` holds the start blocks. Calls take(from, pointer index) for each pointer of each queued block; where it returns true, the
// block pointed to is queued. `marks` is the array that take() reads, by block.
template <typename Mark, typename Take>
void spread(const model::HeapScan& scan, const std::vector<Mark>& marks, std::vector<uint32_t>& queue, Take take) {
  for (size_t at = 0; at < queue.size(); ++at) {
    fetch_ahead(scan, marks, queue, at);
    const uint32_t from = queue[at];
    const uint32_t end = scan.pointers_begin[from + 1];
    for (uint32_t i = scan.pointers_begin[from]; i < end; ++i) {
      if (take(from, i)) queue.push_back(scan.pointers[i].to);
    }
  }
}

}  // namespace heaptap::leaks
