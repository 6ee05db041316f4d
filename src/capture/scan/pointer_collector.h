// First half of a scan, while the target is stopped: reads memory, keeps possible pointers and the patterns of blocks'
// first words. Private to scan/.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "capture/scan/block_heads.h"
#include "capture/scan/block_index.h"
#include "capture/scan/candidate_log.h"
#include "capture/scan/counted_memory.h"
#include "capture/scan/pointer_resolver.h"
#include "capture/scan/vtables.h"
#include "capture/scan/word_filter.h"

namespace heaptap::scan {

// Inputs and outputs of the collector; must outlive it.
struct PointerCollectorParts {
  model::HeapScan& scan;
  const BlockIndex& index;
  Vtables& vtables;
  BlockHeads& heads;
  CandidateLog& log;
  PointerResolver& resolver;
  size_t max_log_bytes;
};

// `Word`: of the target's size, uint32_t or uint64_t.
template <typename Word>
class PointerCollector {
 public:
  PointerCollector(const PointerCollectorParts& parts, CountedMemory& memory);

  void collect_blocks();
  void collect_roots(std::span<const wire::RootRange> ranges);
  // Bytes that should have been read but weren't readable.
  [[nodiscard]] uint64_t unread_bytes() const { return unread_bytes_; }

 private:
  // Large enough to make system calls cheap, small enough to keep the words in the core's cache.
  static constexpr size_t kBufferWords = (size_t{256} << 10) / sizeof(Word);

  template <typename Use>
  void read(base::AddressRange range, Use use);
  void note_heads(uint64_t base, std::span<const Word> words);
  void note_head(uint32_t block, uint64_t base, std::span<const Word> words);
  void select_in_blocks(uint64_t base, std::span<const Word> words, bool pointers);
  void select_relative(uint64_t base, std::span<const Word> words);
  void add_relative(uint64_t base, std::span<const Word> words, std::span<const uint32_t> found);
  void select_in_range(uint64_t base, std::span<const Word> words, wire::RootKind kind);
  void select_tagged(uint64_t base, std::span<const Word> words);
  void select_in_code(uint64_t base, std::span<const Word> words);
  std::span<const uint32_t> select(std::span<const Word> words, base::AddressRange range);
  // Notes the heads of all blocks from `next` on, then resolves the log.
  void make_room(uint64_t next, std::span<const base::AddressRange> pieces);
  [[nodiscard]] bool is_in_block(uint64_t position) const;

  PointerCollectorParts parts_;
  CountedMemory& memory_;
  WordFilter<Word> filter_;
  base::AddressRange block_span_;
  uint64_t address_mask_;              // bits that can be set in the program's addresses
  base::AddressRange whole_span_;      // blocks and vtables
  base::AddressRange vtables_beside_;  // possible false positives of the index
  uint32_t origin_ = 0;                // of the range being read
  std::vector<Candidate> tagged_;      // of the words being examined
  std::vector<Word> buffer_;
  std::vector<uint32_t> found_;
  bool heads_complete_ = false;
  uint64_t unread_bytes_ = 0;
};

extern template class PointerCollector<uint32_t>;
extern template class PointerCollector<uint64_t>;

}  // namespace heaptap::scan
