// Counts of a leak scan: of all blocks, and by stack.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/named_root.h"
#include "analysis/report/purpose.h"
#include "common/base/boxed.h"
#include "common/base/rare.h"
#include "common/model/note.h"

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

// Facts of one leak scan.
struct ScanFacts {
  uint32_t number = 0;         // within the trace, from 1
  bool at_end = false;         // of the program; else on request during the run,
  bool at_exit_start = false;  // or where exit began, before destructors and exit handlers ran
  uint64_t time_ns = 0;
  uint64_t stopped_ns = 0;  // how long the target was paused
  uint64_t total_ns = 0;
  uint64_t read_bytes = 0;
  uint64_t skipped_bytes = 0;  // never touched, or unchanged file contents
  uint32_t threads = 0;
  uint64_t blocks = 0;
  uint64_t pointers = 0;
  uint64_t stored_bytes = 0;       // in the trace
  std::vector<model::Note> notes;  // gaps of the scan
};

struct SuppressionEntry {
  std::string place;  // "known.supp:3"
  std::string text;   // its name, or its line
  BlockCount hidden;
};

// Memory that a library keeps for itself.
struct KeptByLibrary {
  Purpose purpose = Purpose::kProgram;
  BlockCount reachable, possible;
};

inline void sort_kept(std::vector<KeptByLibrary>& all) {
  std::ranges::stable_sort(all, std::greater<>(),
                           [](const KeptByLibrary& kept) { return kept.reachable.bytes + kept.possible.bytes; });
}

// Leaks in the program's pools, whose blocks lie in malloc's blocks, which are counted too, or in mappings.
struct PoolLeaks {
  BlockCount definite, indirect, possible, reachable, unknown;
  // Lost (definitely, indirectly) pool blocks outside of malloc blocks that are counted as lost; and the same including possibly lost
  // ones. With these, sums of pools and other blocks count no byte twice.
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
  BlockCount definite, indirect, possible, reachable, suppressed;  // meaningless without a scan
  BlockCount ignored;  // lost, not suppressed, of ignored stacks, and those below them
  BlockCount unknown;  // unreachable, but their release may have gone unseen
  // Of the reachable ones: that would be possibly lost, weren't all of their stack or call held so.
  BlockCount behind_headers;
  BlockCount released_since;  // after the scan at the end: in none of these counts
  BlockCount behind_tags;  // of the possibly lost (or reachable) ones: held only by words that are not plain pointers
  std::vector<KeptByLibrary> kept_by_libraries;  // reachable and possibly lost ones, largest first
  PoolLeaks pools;
  ScanFacts scan;
  uint32_t scan_count = 0;                       // of the trace
  std::vector<SuppressionEntry> suppressions;    // with matches
  std::vector<std::string> unused_suppressions;  // "known.supp:3: leak:foo"
  std::vector<std::string> broad_suppressions;   // that match nearly every stack
};

// Lost blocks of pools that the program reports: they are included in the live blocks too.
inline BlockCount lost_in_pools(const Leaks& leaks) {
  BlockCount lost = leaks.pools.definite;
  return lost += leaks.pools.indirect;
}

inline bool leaks_for_certain(const Leaks& leaks) {
  return leaks.definite.blocks + leaks.indirect.blocks + lost_in_pools(leaks).blocks != 0;
}
// At least possibly.
inline bool leaks_at_all(const Leaks& leaks) {
  return leaks.scanned && (leaks_for_certain(leaks) || leaks.possible.blocks + leaks.pools.possible.blocks != 0);
}

// Global variable that led to lost blocks where exit began, before destructors and exit handlers ran.
struct ExitHolder {
  NamedRoot variable;
  BlockCount held;  // lost blocks; no other variable led to more of them
};

// Leaks of one stack: its blocks live at the scan.
struct StackLeaks {
  BlockCount definite, indirect, possible, reachable, suppressed, ignored, unknown;
  BlockCount behind_headers;  // as in Leaks
  BlockCount below;           // indirectly lost ones, of any stack, below this stack's definitely lost ones
  BlockCount in_cycles;       // among the definitely lost ones: those that point to themselves, by way of other blocks
  std::vector<uint64_t>
      cycle;  // numbers of the blocks of a shortest cycle, one of `in_cycles` first; empty: none, or not listed
  uint64_t held_by = 0;  // another stack, whose definitely lost blocks lead to `indirect`; 0: none, or unknown
  bool has_more_holders = false;
  base::Boxed<ExitHolder> exit_holder = {};  // of lost()

  [[nodiscard]] BlockCount lost() const { return BlockCount(definite) += indirect; }
  [[nodiscard]] bool may_be_lost() const { return lost().blocks + possible.blocks != 0; }  // some of them
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
    in_cycles += other.in_cycles;
    if (cycle.empty()) cycle = other.cycle;
    return *this;
  }
};

// Leaks of one stack, if there was a scan. Of most stacks it found no block, which takes no memory.
class ScannedLeaks {
 public:
  ScannedLeaks() = default;
  explicit ScannedLeaks(StackLeaks found) : scanned_(true) { found_.edit() = std::move(found); }

  // Whether there was a scan; else nothing is known.
  explicit operator bool() const { return scanned_; }
  const StackLeaks& operator*() const { return *found_; }
  const StackLeaks* operator->() const { return &*found_; }
  [[nodiscard]] bool found_blocks() const { return found_.is_set(); }
  // Scanned, and nothing found so far.
  void set_scanned() {
    scanned_ = true;
    found_.reset();
  }
  // To add to what was found.
  StackLeaks& edit() {
    scanned_ = true;
    return found_.edit();
  }
  void reset() { *this = {}; }

 private:
  base::Rare<StackLeaks> found_;
  bool scanned_ = false;
};

}  // namespace heaptap::report
