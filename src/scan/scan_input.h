// What a leak scan must be told besides the memory itself.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/heap_scan.h"
#include "scan/memory_reader.h"

namespace heaptap::scan {

// One object's thread-local variables in one thread.
struct ThreadLocalSegment {
  base::AddressRange memory;
  uint32_t module;  // index into Tables::modules
};

struct ThreadNumber {
  uint32_t kernel_id;
  model::ThreadId number;
};

// By site the call that allocates, by any number below kNoCall: stacks have it in common where one function allocates on behalf
// of others. Of sites beyond the end it isn't known.
inline constexpr uint32_t kNoCall = 0xffffffff;
using SiteCalls = std::vector<uint32_t>;
constexpr uint32_t call_of(const SiteCalls& calls, model::SiteId site) {
  return site < calls.size() ? calls[site] : kNoCall;
}
// By how many innermost frames are the same: a wrapper has one call for all, and its callers one for each kind of block. (GLib's
// objects are made seven functions below who wants one.)
inline constexpr std::array<unsigned, 6> kCallFrames{1, 2, 3, 5, 7, 9};
inline constexpr size_t kCallLevels = kCallFrames.size();
using CallLevels = std::array<SiteCalls, kCallLevels>;

// Lists may come in any order where nothing else is said. Nothing in them is trusted: what makes no sense is left out.
struct ScanInput {
  unsigned word_bytes = 8;  // of the target: 4 or 8
  // All that are alive, of size zero too. `type` is found by the scan. Sorted by address if they aren't; of two at the
  // same address the last one counts.
  std::vector<model::ScannedBlock> blocks;
  std::vector<model::BlockLife> lives;  // of blocks, in their order here; empty: all are alive
  std::vector<wire::RootRange> root_ranges;
  std::vector<wire::RootWord> root_words;
  std::vector<wire::StackFrame> frames;
  std::vector<ThreadLocalSegment> thread_local_segments;
  std::vector<base::AddressRange> read_only_data;  // of modules, relocated read-only data too: where vtables are
  std::vector<ThreadNumber> threads;
  CallLevels calls;
};

}  // namespace heaptap::scan
