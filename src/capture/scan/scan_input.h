// Input of a leak scan besides the memory itself.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/address_range.h"
#include "common/model/heap_scan.h"

namespace heaptap::scan {

// Thread-local variables of one object in one thread.
struct ThreadLocalSegment {
  base::AddressRange memory;
  uint32_t module;  // index into Tables::modules
};

struct ThreadNumber {
  uint32_t kernel_id;
  model::ThreadId number;
};

// Allocating call by site, as any number below kNoCall: shared by stacks where one function allocates for its callers.
// Unknown for sites beyond the end.
inline constexpr uint32_t kNoCall = 0xffffffff;
using SiteCalls = std::vector<uint32_t>;
constexpr uint32_t call_of(const SiteCalls& calls, model::SiteId site) {
  return site < calls.size() ? calls[site] : kNoCall;
}
// The number behind the greatest call: the size of a table by call.
inline size_t call_count(const SiteCalls& calls) {
  size_t count = 0;
  for (const uint32_t call : calls) count = std::max(count, call == kNoCall ? 0 : size_t{call} + 1);
  return count;
}
// Numbers of innermost frames to compare: a wrapper has one call for all, its callers one for each kind of block.
// (GLib's objects are allocated seven frames below their user.)
inline constexpr std::array<unsigned, 6> kCallFrames{1, 2, 3, 5, 7, 9};
inline constexpr size_t kCallLevels = kCallFrames.size();
using CallLevels = std::array<SiteCalls, kCallLevels>;

// Lists may be in any order unless stated. Nothing in them is trusted: invalid entries are dropped.
struct ScanInput {
  unsigned word_bytes = 8;  // of the target: 4 or 8
  // All live blocks, including those of size zero. `type` is set by the scan. Sorted by address if they aren't; of two
  // at the same address the last one counts.
  std::vector<model::ScannedBlock> blocks;
  std::vector<model::BlockLife> lives;  // in the order of `blocks`; empty: all are alive
  std::vector<wire::RootRange> root_ranges;
  std::vector<wire::RootWord> root_words;
  std::vector<wire::StackFrame> frames;
  std::vector<ThreadLocalSegment> thread_local_segments;
  std::vector<base::AddressRange> read_only_data;  // of modules, including relocated read-only data: contains vtables
  std::vector<ThreadNumber> threads;
  CallLevels calls;
};

}  // namespace heaptap::scan
