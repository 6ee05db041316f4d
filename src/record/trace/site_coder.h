// Coding of the sites of a frame's events as three streams that compress well. Programs repeat themselves: in nine of ten cases
// a site is followed by one of the few that followed it before. Each event is the rank of its site among the last four
// followers of the previous event's site, or a miss (most are rank 0, stored as run lengths); misses give the site's number in
// this frame, or a new site. Encoder and decoder keep the same state, which is empty at each frame's start.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "common/frames/byte_buffer.h"
#include "common/model/event.h"
#include "common/wire/varint.h"

namespace heaptap::trace {

class SiteModel {
 public:
  static constexpr uint8_t kMiss = 4;         // ranks are 0 to 3
  using LocalSite = uint32_t;                 // number within the frame, from 1; 0: none
  static constexpr unsigned kLocalBits = 24;  // more than a frame has events
  using FrameBlock = uint32_t;                // number of an allocation of the frame, from 1; 0: none

  // State of a site for all columns, together since each event needs all of it.
  struct alignas(32) Site {
    std::array<LocalSite, 4> followers{};  // the latest first
    FrameBlock newest = 0;                 // see release_guess.h
    LocalSite takes_from = 0;
    uint64_t last_size = 0;  // of its last allocation, + 1
  };
  static_assert(sizeof(Site) == 32);

  void reset() {
    sites_.assign(1, {});
    previous_ = 0;
  }
  // Number of local numbers, including 0.
  [[nodiscard]] LocalSite count() const { return static_cast<LocalSite>(sites_.size()); }
  LocalSite add() {
    sites_.push_back({});
    return count() - 1;
  }
  [[nodiscard]] LocalSite previous() const { return previous_; }
  [[nodiscard]] Site& site(LocalSite local) { return sites_[local]; }
  [[gnu::always_inline]] void prefetch(LocalSite local) const { __builtin_prefetch(&sites_[local], 1); }

  // Rank of a site after the previous one, or kMiss.
  [[nodiscard]] uint8_t rank(LocalSite local) const {
    const Followers& followers = sites_[previous_].followers;
    if (followers[0] == local && local != 0) [[likely]]
      return 0;
    for (uint8_t i = 1; i < kMiss; ++i) {
      if (followers[i] == local && local != 0) return i;
    }
    return kMiss;
  }
  // The site of that rank; 0: none.
  [[nodiscard]] LocalSite follower(uint8_t rank) const { return sites_[previous_].followers[rank]; }

  // Moves the site to the front of its predecessor's followers.
  void advance(LocalSite local, uint8_t rank) {
    Followers& followers = sites_[previous_].followers;
    for (uint8_t i = rank < kMiss ? rank : kMiss - 1; i > 0; --i) followers[i] = followers[i - 1];
    followers[0] = local;
    previous_ = local;
  }

  // As advance() for rank 0, where nothing moves.
  void follow(LocalSite local) { previous_ = local; }

 private:
  using Followers = std::array<LocalSite, 4>;
  std::vector<Site> sites_;  // by local number
  LocalSite previous_ = 0;
};

class SiteEncoder {
 public:
  SiteEncoder() { begin(); }
  void begin();
  // Adds a site that is new in the frame; returns its local number.
  SiteModel::LocalSite add(model::SiteId site);
  // Local state for a loop over events. Between cursor() and keep() only add() may change the encoder.
  struct Cursor {
    SiteModel::Site* sites;
    SiteModel::LocalSite previous;
    uint64_t zeros;
  };
  Cursor cursor() { return {&model_.site(0), model_.previous(), zeros_}; }
  void keep(const Cursor& cursor) {
    model_.follow(cursor.previous);
    zeros_ = cursor.zeros;
  }
  // Adds the next event's site. `is_new`: it was added for this event.
  [[gnu::always_inline]] void put(Cursor& at, SiteModel::LocalSite site, bool is_new) {
    if (at.sites[at.previous].followers[0] == site) [[likely]] {
      ++at.zeros;
      at.previous = site;
    } else {
      keep(at);
      put_other(site, is_new);
      at = cursor();
    }
  }
  void put(SiteModel::LocalSite site, bool is_new) {
    Cursor at = cursor();
    put(at, site, is_new);
    keep(at);
  }
  [[nodiscard]] SiteModel& model() { return model_; }
  // Stores the misses in byte planes, as many as the frame's sites need.
  void end();

  frames::ByteBuffer ranks;   // for each rank other than 0: the number of 0s before it, and the rank
  frames::ByteBuffer misses;  // a number per miss: the local site, 0 for a new one; in byte planes
  frames::ByteBuffer fresh;   // for each new one the distance of its number from the last new one's

 private:
  void put_other(SiteModel::LocalSite site, bool is_new);

  SiteModel model_;
  uint64_t zeros_ = 0;  // run of rank 0 at the end
  std::vector<uint32_t> misses_;
  model::SiteId previous_fresh_ = 0;
};

class SiteDecoder {
 public:
  // The streams must not move until the frame is done. False: inconsistent.
  bool begin(size_t site_count, size_t event_count, const std::vector<uint8_t>& ranks,
             const std::vector<uint8_t>& misses, const std::vector<uint8_t>& fresh);
  // Reads the next event's site. False: damaged.
  bool next(model::SiteId& site) {
    uint8_t rank = 0;
    if (zeros_ > 0) [[likely]] {
      --zeros_;
    } else {
      rank = next_rank_;
      read_rank();
    }
    SiteModel::LocalSite local = 0;
    if (rank < SiteModel::kMiss) [[likely]] {
      local = model_.follower(rank);
      if (local == 0) return false;
    } else if (!next_miss(local)) {
      return false;
    }
    model_.advance(local, rank);
    site = sites_[local];
    return true;
  }
  // Whether one of the frame's sites is `wanted`.
  template <typename Wanted>
  [[nodiscard]] bool names(Wanted wanted) const {
    uint64_t site = 0;
    for (wire::VarintReader fresh = fresh_; !fresh.at_end();) {
      site += static_cast<uint64_t>(fresh.signed_varint());
      if (site < site_count_ && wanted(static_cast<model::SiteId>(site))) return true;
    }
    return false;
  }
  // Whether one of the frame's sites doesn't exist.
  [[nodiscard]] bool names_unknown() const {
    uint64_t site = 0;
    wire::VarintReader fresh = fresh_;
    while (!fresh.at_end() && site < site_count_) site += static_cast<uint64_t>(fresh.signed_varint());
    return !fresh.ok() || (!sites_.empty() && site >= site_count_);
  }
  // Its number within the frame.
  [[nodiscard]] SiteModel::LocalSite local() const { return model_.previous(); }
  [[nodiscard]] SiteModel& model() { return model_; }

 private:
  bool count_misses(wire::VarintReader ranks, size_t event_count);
  void read_rank();
  bool next_miss(SiteModel::LocalSite& local);

  SiteModel model_;
  std::vector<SiteModel::LocalSite> local_{0};  // by site
  std::vector<model::SiteId> sites_{0};         // by local number
  size_t site_count_ = 0;
  wire::VarintReader ranks_;
  uint64_t zeros_ = 0;     // before the next other rank
  uint8_t next_rank_ = 0;  // the one after them
  const uint8_t* misses_ = nullptr;
  size_t miss_count_ = 0;
  size_t miss_planes_ = 0;
  size_t miss_ = 0;
  wire::VarintReader fresh_;
  model::SiteId previous_fresh_ = 0;
};

}  // namespace heaptap::trace
