// Finds out which word of a target's memory points to which of its blocks, in two steps, so that the target is stopped
// only as long as its memory is being read:
//
//   collect()   while it is stopped: reads each piece of memory once and keeps the words that may be pointers
//   resolve()   when it goes on: which block each of them points to, and how
//
// Roots in memory of blocks: a word of kGlobal or kMapping that lies in a block counts as the block's, not as a root.
// A block's pointers to itself are left out.
#pragma once
#include <memory>

#include "model/heap_scan.h"
#include "scan/findings.h"
#include "scan/memory_reader.h"
#include "scan/scan_input.h"

namespace heaptap::scan {

struct ScanLimits {
  // Memory for words that wait for resolve(). When it is full, collect() resolves them itself: that takes longer, but the
  // result is the same.
  size_t candidate_bytes = size_t{256} << 20;
};

class HeapScanner {
 public:
  // Makes the index of blocks. May be done before the target is stopped, if the blocks are known by then.
  explicit HeapScanner(ScanInput input, ScanLimits limits = {});
  HeapScanner(HeapScanner&&) noexcept;
  HeapScanner& operator=(HeapScanner&&) noexcept;
  ~HeapScanner();

  void collect(MemoryReader& reader);

  // The two steps may be those of two scanners, on two machines. The one beside the target knows the blocks' addresses and
  // sizes, and has room for all candidates; it hands over what it found, after collect(), once.
  [[nodiscard]] Findings hand_over();
  // The other one takes it in place of collect(). Both have the same blocks and ranges of roots: false where these are
  // others', or make no sense. Then there is nothing to resolve.
  [[nodiscard]] bool take(Findings findings);

  // After collect() or take(), once. Needs no target. Number, reason, times, threads and events_before of the scan are the caller's;
  // notes may be there already.
  [[nodiscard]] model::HeapScan resolve();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace heaptap::scan
