// The first half of a scan, while the target is stopped: reads memory, and keeps words that may be pointers and what
// blocks begin with. Private to scan/.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "scan/block_heads.h"
#include "scan/block_index.h"
#include "scan/candidate_log.h"
#include "scan/memory_reader.h"
#include "scan/pointer_resolver.h"
#include "scan/vtables.h"
#include "scan/word_filter.h"

namespace heaptap::scan {

// What the collector fills and uses; they outlive it.
struct PointerCollectorParts {
  model::HeapScan& scan;
  const BlockIndex& index;
  Vtables& vtables;
  BlockHeads& heads;
  CandidateLog& log;
  PointerResolver& resolver;
  size_t most_log_bytes;
};

// `Word`: as long as the target's, uint32_t or uint64_t.
template <typename Word>
class PointerCollector {
 public:
  PointerCollector(const PointerCollectorParts& parts, MemoryReader& reader);

  void collect_blocks();
  void collect_roots(std::span<const wire::RootRange> ranges);
  // That should have been read, and couldn't be.
  [[nodiscard]] uint64_t unread_bytes() const { return unread_bytes_; }

 private:
  // Large enough that a system call costs little, small enough that the words are still in the core's cache.
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
  // Notes the heads of all blocks from `next` on, then resolves what is in the log.
  void make_room(uint64_t next, std::span<const base::AddressRange> pieces);
  [[nodiscard]] bool is_in_block(uint64_t position) const;

  PointerCollectorParts parts_;
  MemoryReader& reader_;
  WordFilter<Word> filter_;
  base::AddressRange block_span_;
  uint64_t address_mask_;              // the bits that the program's addresses have
  base::AddressRange whole_span_;      // blocks and vtables
  base::AddressRange vtables_beside_;  // the index takes them for blocks, perhaps
  uint32_t origin_ = 0;                // of the range that is being read
  std::vector<Candidate> tagged_;      // of the words that are being looked at
  std::vector<Word> buffer_;
  std::vector<uint32_t> found_;
  bool heads_complete_ = false;
  uint64_t unread_bytes_ = 0;
};

extern template class PointerCollector<uint32_t>;
extern template class PointerCollector<uint64_t>;

}  // namespace heaptap::scan
