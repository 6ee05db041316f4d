// Cycles of lost blocks: each points to the next one, the last to the first. With reference counts, as of std::shared_ptr, that is why
// they are lost; a doubly linked list is one, too.
#pragma once
#include <cstdint>
#include <vector>

#include "analysis/leaks/classify.h"
#include "analysis/query/leak_counts.h"
#include "analysis/query/stack_index.h"
#include "analysis/report/report.h"
#include "common/model/heap_scan.h"

namespace heaptap::query {

// By block, 1: a definitely lost block that is in a cycle. Such a block leads to all lost blocks that point to it, by definition, so this
// reads each pointer of lost blocks once. The pointer of a pool's block to the block that contains it doesn't count.
std::vector<uint8_t> find_in_cycles(const model::HeapScan& scan, const std::vector<leaks::BlockState>& states);

// Shortest cycle of lost blocks through `block`: indexes, `block` first. Empty: none among the first 10,000 blocks that it leads to.
std::vector<uint32_t> cycle_through(const model::HeapScan& scan, const std::vector<leaks::BlockState>& states,
                                    uint32_t block);

// Fills in report::StackLeaks::cycle of the listed stacks.
void name_cycles(const model::HeapScan& scan, const LeakCounts& counts, const StackIndex& index,
                 report::Report& report);

}  // namespace heaptap::query
