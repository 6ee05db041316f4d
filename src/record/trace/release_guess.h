// Prediction of the block that a release names, from the frame's earlier events: code that releases repeatedly takes
// blocks of the same allocation site, mostly the newest live one. Writer and reader of a frame keep the same state,
// which is empty at each frame's start; the part of a site is stored with its other facts (SiteModel::Site).
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "record/trace/site_coder.h"

namespace heaptap::trace {

class ReleaseGuess {
 public:
  using LocalSite = SiteModel::LocalSite;
  using FrameBlock = SiteModel::FrameBlock;

  void begin() {
    count_ = 1;
    if (blocks_.empty()) blocks_.resize(1);
    blocks_[0] = {};
  }
  // Makes room for that many further allocations.
  void expect(size_t allocations) {
    if (blocks_.size() - count_ < allocations) blocks_.resize(std::max(blocks_.size() * 2, count_ + allocations));
  }

  // Local state for a loop over events; room must have been made before; ends with keep().
  class Cursor;
  Cursor cursor();
  void keep(const Cursor& cursor);

  // Whether a block's last release had its own tag.
  [[nodiscard]] bool matched(FrameBlock block) const { return (blocks_[block].site_and_tag & kMatched) != 0; }

 private:
  static constexpr uint32_t kSiteMask = (uint32_t{1} << SiteModel::kLocalBits) - 1;
  static constexpr uint32_t kMatched = uint32_t{1} << 31;
  struct Block {
    FrameBlock before = 0;      // previous block of the same site
    uint32_t site_and_tag = 0;  // site 0: released
    [[nodiscard]] LocalSite site() const { return site_and_tag & kSiteMask; }
  };
  std::vector<Block> blocks_;  // those from count_ on are spare
  FrameBlock count_ = 1;
};

class ReleaseGuess::Cursor {
 public:
  Cursor(Block* blocks, FrameBlock count) : blocks_(blocks), count_(count) {}
  [[nodiscard]] FrameBlock count() const { return count_; }

  // `tag` is the caller's, 7 bits.
  void allocate(SiteModel::Site& facts, LocalSite site, uint8_t tag = 0) {
    blocks_[count_] = {facts.newest, uint32_t{tag} << SiteModel::kLocalBits | site};
    facts.newest = count_++;
  }

  // Prediction for a release at this site: the newest live block of the site of the block last released here (0, the
  // number of no site, has no blocks).
  FrameBlock guess(SiteModel::Site* sites, const SiteModel::Site& facts) const {
    FrameBlock& newest = sites[facts.takes_from].newest;
    while (newest != 0 && blocks_[newest].site() == 0) newest = blocks_[newest].before;
    return newest;
  }

  // Ignores a block outside of the frame, or already released. (A release that is undone later still counts.)
  void release(SiteModel::Site& facts, uint64_t block) {
    if (block >= count_) return;
    const LocalSite from = blocks_[block].site();
    if (from == 0) return;
    facts.takes_from = from;
    blocks_[block].site_and_tag &= ~kSiteMask;
  }

  // Records whether the block's last release has its own tag.
  void match(FrameBlock block, uint8_t tag) {
    uint32_t& word = blocks_[block].site_and_tag;
    const bool own = (word & ~kMatched) >> SiteModel::kLocalBits == tag;
    word = (word & ~kMatched) | uint32_t{own} << 31;
  }

 private:
  Block* blocks_;
  FrameBlock count_;
};

inline ReleaseGuess::Cursor ReleaseGuess::cursor() { return {blocks_.data(), count_}; }
inline void ReleaseGuess::keep(const Cursor& cursor) { count_ = cursor.count(); }

}  // namespace heaptap::trace
