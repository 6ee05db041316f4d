// The second half of a scan: which block a word points to, and how; writes pointers and roots of the HeapScan.
// Private to leaks/.
#pragma once
#include <array>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "host/leaks/block_heads.h"
#include "host/leaks/block_index.h"
#include "host/leaks/candidate_log.h"
#include "host/leaks/root_names.h"

namespace heaptap::leaks {

class PointerResolver {
 public:
  // Origin of a candidate that lies in a block; of others it is an index into the ranges of roots.
  static constexpr uint32_t kInBlocks = 0xffffffff;

  // What is given must stay, and the scan's blocks and the heads must be complete when words are added.
  PointerResolver(model::HeapScan& scan, const BlockIndex& index, const BlockHeads& heads, const RootNames& names,
                  std::span<const wire::RootRange> ranges);

  // Empties the log. Positions in blocks ascend, from one call to the next as well.
  void add(CandidateLog& log);
  void add(const wire::RootWord& word);
  // After the last word.
  void finish();

 private:
  static constexpr size_t kBatch = 64;        // words whose blocks are fetched together
  static constexpr size_t kFewPointers = 16;  // of a block: looked through one by one
  static constexpr size_t kMostPointers = 0xfffffff0;

  void resolve_batch();
  void resolve(const Candidate& candidate);
  struct Target {
    uint32_t block = kNoBlock;  // kNoBlock: the address is in none
    wire::PointerKind kind = wire::PointerKind::kStart;
  };
  [[nodiscard]] Target target_of(uint64_t address) const;
  void add_block_pointer(uint64_t position, uint32_t to, wire::PointerKind kind);
  [[nodiscard]] bool is_new(uint32_t to, wire::PointerKind kind);
  void add_root(uint32_t thread_id, model::RootPointer root);

  model::HeapScan& scan_;
  const BlockIndex& index_;
  const BlockHeads& heads_;
  const RootNames& names_;
  std::span<const wire::RootRange> ranges_;
  unsigned word_shift_;  // of a word's bytes
  std::array<Candidate, kBatch> batch_;
  size_t batched_ = 0;
  uint32_t from_ = 0;                         // the block whose pointers are being added
  boost::unordered_flat_set<uint64_t> many_;  // its pointers, if they are many
  boost::unordered_flat_set<uint64_t> known_roots_;
  bool full_ = false;
};

}  // namespace heaptap::leaks
