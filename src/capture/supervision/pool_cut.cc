#include "capture/supervision/pool_cut.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>
#include <tuple>

namespace heaptap::supervision {
namespace {

using model::BlockPointer;
using model::kNoBlock;
using model::ScannedBlock;

uint64_t end_of(const ScannedBlock& block) { return block.address + block.size_bytes; }

// Ascending, without nesting: of overlapping ones the first one stays.
void drop_overlapping(std::vector<ScannedBlock>& pooled) {
  std::ranges::sort(pooled, {}, [](const ScannedBlock& block) { return std::tuple(block.address, block.number); });
  uint64_t end = 0;
  std::erase_if(pooled, [&end](const ScannedBlock& block) {
    if (block.address < end) return true;
    end = end_of(block);
    return false;
  });
}

// To the start of another block.
wire::PointerKind kind_into(wire::PointerKind kind, uint64_t offset_bytes) {
  return offset_bytes != 0 && kind == wire::PointerKind::kStart ? wire::PointerKind::kInterior : kind;
}

}  // namespace

PoolCut::PoolCut(const std::vector<ScannedBlock>& blocks, std::vector<ScannedBlock> pooled) {
  drop_overlapping(pooled);
  auto next = pooled.begin();
  uint64_t taken_until = 0;  // by the pool's block before
  const auto add_pooled = [&](uint32_t within) {
    pieces_.push_back({*next, static_cast<uint32_t>(whole_.size()), 0});
    taken_until = end_of(*next);
    whole_.push_back(*next++);
    within_.push_back(within);
  };
  for (const ScannedBlock& block : blocks) {
    while (next != pooled.end() && next->address < block.address) add_pooled(kNoBlock);
    const auto place = static_cast<uint32_t>(whole_.size());
    places_.push_back(place);
    whole_.push_back(block);
    within_.push_back(kNoBlock);
    uint64_t at = std::clamp(taken_until, block.address, end_of(block));
    // Pool blocks that aren't completely inside it are not part of it, and keep the overlap.
    while (next != pooled.end() && next->address < end_of(block)) {
      ScannedBlock piece = block;
      piece.address = at;
      piece.size_bytes = next->address - at;
      if (piece.size_bytes > 0) pieces_.push_back({piece, place, at - block.address});
      at = std::min(end_of(*next), end_of(block));
      add_pooled(end_of(*next) <= end_of(block) ? place : kNoBlock);
    }
    ScannedBlock rest = block;
    rest.address = at;
    rest.size_bytes = end_of(block) - at;
    const bool is_taken = taken_until > at || (next != pooled.end() && next->address == at);
    if (rest.size_bytes > 0 || (at == block.address && !is_taken)) pieces_.push_back({rest, place, at - block.address});
  }
  while (next != pooled.end()) add_pooled(kNoBlock);
}

std::vector<ScannedBlock> PoolCut::pieces(std::vector<model::BlockLife>& lives) const {
  if (!lives.empty()) {
    std::vector<model::BlockLife> of_whole(whole_.size(), model::BlockLife::kUnknown);
    for (size_t i = 0; i < std::min(places_.size(), lives.size()); ++i) of_whole[places_[i]] = lives[i];
    lives.clear();
    for (const Piece& piece : pieces_) lives.push_back(of_whole[piece.of]);
  }
  std::vector<ScannedBlock> blocks;
  blocks.reserve(pieces_.size());
  for (const Piece& piece : pieces_) blocks.push_back(piece.block);
  return blocks;
}

const PoolCut::Piece* PoolCut::piece_at(uint64_t address) const {
  const auto found =
      std::ranges::lower_bound(pieces_, address, {}, [](const Piece& piece) { return piece.block.address; });
  return found != pieces_.end() && found->block.address == address ? &*found : nullptr;
}

void PoolCut::join(model::HeapScan& scan, unsigned word_bytes) const {
  // A scanner leaves out blocks that can't be searched: the others are found by their addresses.
  std::vector<const Piece*> pieces;
  pieces.reserve(scan.blocks.size());
  for (const ScannedBlock& block : scan.blocks) pieces.push_back(piece_at(block.address));

  model::HeapScan joined = scan;
  joined.blocks = whole_;
  joined.lives.assign(scan.lives.empty() ? 0 : whole_.size(), model::BlockLife::kUnknown);
  joined.pointers.clear();
  joined.roots.clear();
  std::vector<std::vector<BlockPointer>> pointers(whole_.size());
  for (uint32_t at = 0; at < whole_.size(); ++at) {
    if (within_[at] != kNoBlock) {
      pointers[at].push_back({.to = within_[at], .offset = 0, .kind = wire::PointerKind::kStart});
    }
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i] == nullptr) continue;
    const uint32_t from = pieces[i]->of;
    if (pieces[i]->offset_bytes == 0) joined.blocks[from].type = scan.blocks[i].type;
    if (!scan.lives.empty()) joined.lives[from] = scan.lives[i];
    for (uint32_t p = scan.pointers_begin[i]; p < scan.pointers_begin[i + 1]; ++p) {
      const BlockPointer& pointer = scan.pointers[p];
      const Piece* const to = pieces[pointer.to];
      if (to == nullptr || to->of == from) continue;
      pointers[from].push_back({.to = to->of,
                                .offset = pointer.offset + static_cast<uint32_t>(pieces[i]->offset_bytes / word_bytes),
                                .kind = kind_into(pointer.kind, to->offset_bytes)});
    }
  }
  joined.pointers_begin.assign(1, 0);
  for (std::vector<BlockPointer>& of_block : pointers) {
    boost::unordered_flat_set<uint64_t> known;
    std::ranges::stable_sort(of_block, {}, &BlockPointer::offset);
    for (const BlockPointer& pointer : of_block) {
      if (known.insert(uint64_t{pointer.to} << 8 | static_cast<uint8_t>(pointer.kind)).second) {
        joined.pointers.push_back(pointer);
      }
    }
    joined.pointers_begin.push_back(static_cast<uint32_t>(joined.pointers.size()));
  }
  boost::unordered_flat_set<uint64_t> known;
  for (model::RootPointer root : scan.roots) {
    const Piece* const to = pieces[root.to];
    if (to == nullptr) continue;
    root.to = to->of;
    root.kind = kind_into(root.kind, to->offset_bytes);
    // Those of a whole block are those of its first piece, which are few.
    const uint64_t key =
        (uint64_t{root.to} << 8 | static_cast<uint8_t>(root.kind)) << 8 | static_cast<uint8_t>(root.root);
    if (root.is_global_start() || known.insert(key).second) joined.roots.push_back(root);
  }
  scan = std::move(joined);
}

}  // namespace heaptap::supervision
