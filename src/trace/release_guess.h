// Which block a release will name, guessed from the frame's events so far: code that releases takes blocks of the same
// allocation site again and again, mostly the newest one that is alive. Writer and reader of a frame keep the same state,
// which begins empty in each frame; what belongs to a site lies with the site's other facts (SiteModel::Site).
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/site_coder.h"

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
  // There is room for that many allocations more.
  void expect(size_t allocations) {
    if (blocks_.size() - count_ < allocations) blocks_.resize(std::max(blocks_.size() * 2, count_ + allocations));
  }

  // What a loop over events keeps at hand; room must have been made before, and keep() ends it.
  class Cursor;
  Cursor cursor();
  void keep(const Cursor& cursor);

  // Whether a block's last release had its own tag.
  [[nodiscard]] bool matched(FrameBlock block) const { return (blocks_[block].site_and_tag & kMatched) != 0; }

 private:
  static constexpr uint32_t kSiteMask = (uint32_t{1} << SiteModel::kLocalBits) - 1;
  static constexpr uint32_t kMatched = uint32_t{1} << 31;
  struct Block {
    FrameBlock before = 0;      // of the same site
    uint32_t site_and_tag = 0;  // site 0: released
    [[nodiscard]] LocalSite site() const { return site_and_tag & kSiteMask; }
  };
  std::vector<Block> blocks_;  // those from count_ on are room
  FrameBlock count_ = 1;
};

class ReleaseGuess::Cursor {
 public:
  Cursor(Block* blocks, FrameBlock count) : blocks_(blocks), count_(count) {}
  [[nodiscard]] FrameBlock count() const { return count_; }

  // `tag` is the caller's, of 7 bits.
  void allocate(SiteModel::Site& facts, LocalSite site, uint8_t tag = 0) {
    blocks_[count_] = {facts.newest, uint32_t{tag} << SiteModel::kLocalBits | site};
    facts.newest = count_++;
  }

  // What a release at this site names: the newest live block of the site whose block was released here last (or 0: of the
  // site that is none, which has no blocks).
  FrameBlock guess(SiteModel::Site* sites, const SiteModel::Site& facts) const {
    FrameBlock& newest = sites[facts.takes_from].newest;
    while (newest != 0 && blocks_[newest].site() == 0) newest = blocks_[newest].before;
    return newest;
  }

  // A block that is none of the frame's, or was released before, says nothing. (A release that was taken back later stays.)
  void release(SiteModel::Site& facts, uint64_t block) {
    if (block >= count_) return;
    const LocalSite from = blocks_[block].site();
    if (from == 0) return;
    facts.takes_from = from;
    blocks_[block].site_and_tag &= ~kSiteMask;
  }

  // Notes at a block whether its last release has its own tag.
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
