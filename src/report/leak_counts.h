// What a leak scan counted: of all blocks, and of those of one stack.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/note.h"
#include "report/purpose.h"

namespace heaptap::report {

struct BlockCount {
  uint64_t blocks = 0;
  uint64_t bytes = 0;
  void add_block(uint64_t size) {
    ++blocks;
    bytes += size;
  }
  BlockCount& operator+=(const BlockCount& other) {
    blocks += other.blocks;
    bytes += other.bytes;
    return *this;
  }
};

// One look at the target's memory.
struct ScanFacts {
  uint32_t number = 0;  // counts the trace's scans from 1
  bool at_end = false;  // of the program; else it was asked for meanwhile
  uint64_t time_ns = 0;
  uint64_t stopped_ns = 0;  // how long the target was stopped
  uint64_t total_ns = 0;
  uint64_t read_bytes = 0;
  uint64_t skipped_bytes = 0;  // never touched, or as its file has it
  uint32_t threads = 0;
  uint64_t blocks = 0;
  uint64_t pointers = 0;
  uint64_t stored_bytes = 0;       // in the trace
  std::vector<model::Note> notes;  // what couldn't be seen
};

struct SuppressionEntry {
  std::string place;  // "known.supp:3"
  std::string text;   // its name, or its line
  BlockCount hidden;
};

// What libraries keep for themselves.
struct KeptByLibrary {
  Purpose purpose = Purpose::kProgram;
  BlockCount reachable, possible;
};

inline void sort_kept(std::vector<KeptByLibrary>& all) {
  std::ranges::stable_sort(all, std::greater<>(),
                           [](const KeptByLibrary& kept) { return kept.reachable.bytes + kept.possible.bytes; });
}

// Blocks of the program's pools, which lie in blocks of malloc that are counted as well, or in mappings.
struct PoolLeaks {
  BlockCount definite, indirect, possible, reachable, unknown;
  // Of the definitely and indirectly lost ones: what doesn't lie in a block of malloc that is counted so, too. And the same of these
  // and the possibly lost ones. Sums of pools and other blocks have no byte twice by these.
  BlockCount lost_apart, leaked_apart;
  PoolLeaks& operator+=(const PoolLeaks& other) {
    definite += other.definite;
    indirect += other.indirect;
    possible += other.possible;
    reachable += other.reachable;
    unknown += other.unknown;
    lost_apart += other.lost_apart;
    leaked_apart += other.leaked_apart;
    return *this;
  }
};

struct Leaks {
  bool scanned = false;
  BlockCount definite, indirect, possible, reachable, suppressed;  // meaningless where not scanned
  BlockCount ignored;  // lost ones that aren't suppressed, of stacks that are ignored, and below these
  BlockCount unknown;  // nothing leads to them, and they may have been released without that having been seen
  BlockCount
      behind_headers;  // of the reachable ones: that would be possibly lost, weren't all of their stack or call held so
  BlockCount released_since;  // after the scan at the end: in none of these counts
  BlockCount behind_tags;  // of the possibly lost (or reachable) ones: held by words that are no plain pointers alone
  std::vector<KeptByLibrary> kept_by_libraries;  // of the reachable and the possibly lost ones, largest first
  PoolLeaks pools;
  ScanFacts scan;
  uint32_t scan_count = 0;                       // of the trace
  std::vector<SuppressionEntry> suppressions;    // that hid something
  std::vector<std::string> unused_suppressions;  // "known.supp:3: leak:foo"
  std::vector<std::string> broad_suppressions;   // that match more or less every stack
};

// Of the blocks of one stack that were alive at the scan.
struct StackLeaks {
  BlockCount definite, indirect, possible, reachable, suppressed, ignored, unknown;
  BlockCount behind_headers;  // as in Leaks
  BlockCount below;           // indirectly lost ones, of whatever stack, that this stack's definitely lost ones lead to
  uint64_t held_by = 0;       // another stack whose definitely lost blocks lead to `indirect`; 0: none, or not known
  bool has_more_holders = false;

  [[nodiscard]] BlockCount lost() const { return BlockCount(definite) += indirect; }
  StackLeaks& operator+=(const StackLeaks& other) {
    definite += other.definite;
    indirect += other.indirect;
    possible += other.possible;
    reachable += other.reachable;
    suppressed += other.suppressed;
    ignored += other.ignored;
    unknown += other.unknown;
    behind_headers += other.behind_headers;
    below += other.below;
    return *this;
  }
};

}  // namespace heaptap::report
