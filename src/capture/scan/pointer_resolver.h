// Second half of a scan: determines the block that each word points to, and how; writes pointers and roots of the
// HeapScan. Private to scan/.
#pragma once
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "capture/scan/block_heads.h"
#include "capture/scan/block_index.h"
#include "capture/scan/candidate_log.h"
#include "capture/scan/end_pointers.h"
#include "capture/scan/header_pointers.h"
#include "capture/scan/relative_pointers.h"
#include "capture/scan/root_names.h"

namespace heaptap::scan {

class PointerResolver {
 public:
  // Origin of a candidate within a block; other origins are indices into the root ranges.
  static constexpr uint32_t kInBlocks = 0xffffffff;

  // Arguments must outlive it; the scan's blocks and the heads must be complete before words are added.
  PointerResolver(model::HeapScan& scan, const BlockIndex& index, const BlockHeads& heads, const RootNames& names,
                  std::span<const wire::RootRange> ranges, const CallLevels& calls);

  // Empties the log. Positions in blocks ascend, across calls too, except those of relative words.
  void add(CandidateLog& log);
  void add(const wire::RootWord& word);
  // After the last word.
  void finish();

 private:
  static constexpr size_t kBatch = 64;        // words whose index entries are prefetched together
  static constexpr size_t kFewPointers = 16;  // of a block: searched linearly
  static constexpr size_t kMaxPointers = 0xfffffff0;
  static constexpr size_t kMaxRelativeWords = size_t{1} << 23;
  static constexpr size_t kMaxEnds = size_t{1} << 23;

  void resolve_batch();
  // Of pointers into middles marks those that a rule believes in.
  Headers mark_certain_places();
  void resolve(const Candidate& candidate);
  struct Target {
    uint32_t block = model::kNoBlock;  // kNoBlock: the address is in none
    wire::PointerKind kind = wire::PointerKind::kStart;
    uint64_t offset = 0;  // in the block
    bool is_end = false;  // the address is right behind the block
    [[nodiscard]] bool leads_inside() const {
      return kind == wire::PointerKind::kInterior || (kind == wire::PointerKind::kTagged && offset != 0);
    }
  };
  [[nodiscard]] Target target_of(uint64_t address) const;
  static constexpr uint32_t kNoPointer = 0xffffffff;
  void move_to_block_at(uint64_t position);
  void add_block_pointer(uint64_t position, const Target& target);
  void add_end(const Candidate& candidate, uint32_t block);
  void add_relative(const Candidate& candidate, const Target& target);
  void add_kept(uint64_t position, const Target& target);
  [[nodiscard]] bool is_same_call(uint32_t from, uint32_t to) const;
  // Index of an equal pointer of the current block; kNoPointer: there is none, and the next one becomes it.
  [[nodiscard]] uint32_t same_pointer(uint32_t to, wire::PointerKind kind);
  void add_root(uint32_t thread_id, const Target& target, model::RootPointer root);
  void add_global_start(const model::RootPointer& root);

  model::HeapScan& scan_;
  const BlockIndex& index_;
  const BlockHeads& heads_;
  const RootNames& names_;
  std::span<const wire::RootRange> ranges_;
  const CallLevels& calls_;
  unsigned word_shift_;  // of a word's bytes
  std::array<Candidate, kBatch> batch_;
  size_t batched_ = 0;
  uint32_t from_ = 0;                                   // the block whose pointers are being added
  boost::unordered_flat_map<uint64_t, uint32_t> many_;  // its pointers, if there are many
  boost::unordered_flat_map<uint64_t, uint32_t> known_roots_;
  // Indices in scan_.roots of the kept words of global variables with one block's start.
  struct GlobalStarts {
    std::array<uint32_t, model::kMaxGlobalStarts> roots{};
    uint32_t count = 0;
  };
  boost::unordered_flat_map<uint32_t, GlobalStarts> global_starts_;  // by block
  InteriorPointers interior_pointers_;                               // of scan_.pointers
  InteriorPointers interior_roots_;                                  // of scan_.roots
  std::vector<BlockWord> relative_words_;
  EndPointers ends_;
  bool full_ = false;
};

}  // namespace heaptap::scan
