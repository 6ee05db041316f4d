// Which block a release will name, guessed from the frame's events so far: code that releases takes blocks of the same
// allocation site again and again, mostly the newest one that is alive. Writer and reader of a frame keep the same state,
// which begins empty in each frame.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "host/intake/site_coder.h"

namespace heaptap::intake {

class ReleaseGuess {
 public:
  using LocalSite = SiteModel::LocalSite;
  using FrameBlock = uint32_t;  // which of the frame's allocations, from 1 on; 0: none

  void begin() {
    sites_.assign(1, {});
    count_ = 1;
    if (blocks_.empty()) blocks_.resize(1);
    blocks_[0] = {};
  }
  // There is room for that many allocations more.
  void expect(size_t allocations) {
    if (blocks_.size() - count_ < allocations) blocks_.resize(std::max(blocks_.size() * 2, count_ + allocations));
  }
  // Local sites are added in order, from 1 on.
  void add_site() { sites_.push_back({}); }
  [[nodiscard]] LocalSite site_count() const { return static_cast<LocalSite>(sites_.size()); }

  // There must be room, see expect().
  void allocate(LocalSite site) {
    blocks_[count_] = {sites_[site].newest, site};
    sites_[site].newest = static_cast<FrameBlock>(count_++);
  }

  // What a release at this site names: the newest live block of the site whose block was released here last.
  FrameBlock guess(LocalSite site) {
    FrameBlock& newest = sites_[sites_[site].takes_from].newest;
    while (newest != 0 && blocks_[newest].site == 0) newest = blocks_[newest].before;
    return newest;
  }

  // A block that is none of the frame's, or was released before, says nothing. (A release that was taken back later stays.)
  void release(LocalSite site, uint64_t block) {
    if (block >= count_ || blocks_[block].site == 0) return;
    sites_[site].takes_from = blocks_[block].site;
    blocks_[block].site = 0;
  }

 private:
  struct Block {
    FrameBlock before = 0;  // of the same site
    LocalSite site = 0;     // 0: released
  };
  struct Site {
    FrameBlock newest = 0;     // of its blocks; those at the front may be released by now
    LocalSite takes_from = 0;  // 0: nothing yet, and local site 0 has no blocks
  };
  std::vector<Site> sites_;    // by local number
  std::vector<Block> blocks_;  // those from count_ on are room
  size_t count_ = 1;
};

}  // namespace heaptap::intake
