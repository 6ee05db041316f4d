#include "capture/scan/header_pointers.h"

#include <algorithm>

namespace heaptap::scan {
namespace {

using wire::PointerKind;

constexpr uint32_t kMaxHeaderBytes = 4096;
constexpr uint32_t kNone = Entrances::kNone;

// Whether pointers to the blocks agree in this offset. Each vote is the target of one of these pointers.
bool is_header(const Votes& votes, uint32_t offset) {
  return offset == votes.value && offset != 0 && offset <= kMaxHeaderBytes && votes.agree();
}

uint32_t distance_to_end(const model::ScannedBlock& block, uint32_t offset) {
  const uint64_t rest = block.size_bytes > offset ? block.size_bytes - offset : 0;
  return static_cast<uint32_t>(std::min<uint64_t>(rest, kNone));
}

// Blocks whose start something else points to have no say in the distance from the end: it is an operand, in a list of those with
// one value. Not so where one holder has both, which is a buffer and a place in it.
template <typename Take>
void vote_for(HeaderVotes& header, const model::ScannedBlock& block, const Entrances& entrances, Take take) {
  take(header.from_start, entrances.first);
  if (entrances.first != 0 || entrances.is_held) {
    take(header.from_end, entrances.is_held ? kNone : distance_to_end(block, entrances.last));
  }
}

bool ends_at(const HeaderVotes& header, const model::ScannedBlock& block, uint64_t offset) {
  if (header.shares.agree_in(share_before(block.size_bytes, offset))) return true;
  if (offset > kMaxHeaderBytes) return false;
  const auto bytes = static_cast<uint32_t>(offset);
  return is_header(header.from_start, bytes) || is_header(header.from_end, distance_to_end(block, bytes));
}

}  // namespace

Headers::Headers(const model::HeapScan& scan, const std::vector<Entrances>& entrances, const CallLevels& calls)
    : scan_(&scan), calls_(&calls) {
  size_t sites = 0;
  for (const model::ScannedBlock& block : scan.blocks) sites = std::max(sites, size_t{block.site} + 1);
  of_sites_.resize(sites);
  for (size_t level = 0; level < kCallLevels; ++level) of_calls_[level].resize(call_count(calls[level]));
  using model::ScannedBlock;
  vote(entrances, [](HeaderVotes& header, const ScannedBlock& block, const Entrances& of_block) {
    vote_for(header, block, of_block, [](Votes& votes, uint32_t offset) { votes.propose(offset); });
    header.shares.propose(of_block, block.size_bytes);
  });
  vote(entrances, [](HeaderVotes& header, const ScannedBlock& block, const Entrances& of_block) {
    vote_for(header, block, of_block, [](Votes& votes, uint32_t offset) { votes.count(offset); });
    header.shares.count(of_block, block.size_bytes);
  });
}

template <typename Take>
void Headers::vote(const std::vector<Entrances>& entrances, Take take) {
  for (size_t i = 0; i < scan_->blocks.size(); ++i) {
    if (entrances[i].first == kNone) continue;
    const model::ScannedBlock& block = scan_->blocks[i];
    take(of_sites_[block.site], block, entrances[i]);
    for (size_t level = 0; level < kCallLevels; ++level) {
      const uint32_t call = call_of((*calls_)[level], block.site);
      if (call != kNoCall) take(of_calls_[level][call], block, entrances[i]);
    }
  }
}

bool Headers::end_at(uint32_t block, uint64_t offset) const {
  if (of_sites_.empty()) return false;
  const model::ScannedBlock& held = scan_->blocks[block];
  if (ends_at(of_sites_[held.site], held, offset)) return true;
  for (size_t level = 0; level < kCallLevels; ++level) {
    const uint32_t call = call_of((*calls_)[level], held.site);
    if (call != kNoCall && ends_at(of_calls_[level][call], held, offset)) return true;
  }
  return false;
}

void mark_header_pointers(model::HeapScan& scan, const InteriorPointers& pointers, const InteriorPointers& roots,
                          const Headers& headers) {
  const auto mark = [&](auto& list, const InteriorPointers& interior) {
    for (const auto& entry : interior.entries()) {
      auto& pointer = list[entry.pointer];
      if (headers.end_at(pointer.to, entry.offset)) pointer.kind = PointerKind::kHeader;
    }
  };
  mark(scan.pointers, pointers);
  mark(scan.roots, roots);
}

}  // namespace heaptap::scan
