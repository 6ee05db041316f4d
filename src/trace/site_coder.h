// The sites of a frame's events as three streams that compress well. Programs repeat themselves: after a site, one of the
// few that followed it before comes next in nine of ten cases. Each event is the rank of its site among the last four
// that followed the previous event's site, or a miss (most are rank 0, of which only the number in a row is written); misses name the site by its number in this frame, or as new.
// Encoder and decoder keep the same state, which begins empty in each frame.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "model/event.h"
#include "trace/byte_buffer.h"
#include "wire/varint.h"

namespace heaptap::trace {

class SiteModel {
 public:
  static constexpr uint8_t kMiss = 4;         // ranks are 0 to 3
  using LocalSite = uint32_t;                 // number within the frame, from 1 on; 0: none
  static constexpr unsigned kLocalBits = 24;  // a frame has fewer events
  using FrameBlock = uint32_t;                // which of the frame's allocations, from 1 on; 0: none

  // What the frame's columns remember of a site, together: each event asks for all of it.
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
  // How many local numbers there are, 0 included.
  [[nodiscard]] LocalSite count() const { return static_cast<LocalSite>(sites_.size()); }
  LocalSite add() {
    sites_.push_back({});
    return count() - 1;
  }
  [[nodiscard]] LocalSite previous() const { return previous_; }
  [[nodiscard]] Site& site(LocalSite local) { return sites_[local]; }
  [[gnu::always_inline]] void prefetch(LocalSite local) const { __builtin_prefetch(&sites_[local], 1); }

  // The rank of a site that follows the previous one, or kMiss.
  [[nodiscard]] uint8_t rank(LocalSite local) const {
    const Followers& followers = sites_[previous_].followers;
    if (followers[0] == local && local != 0) [[likely]]
      return 0;
    for (uint8_t i = 1; i < kMiss; ++i) {
      if (followers[i] == local && local != 0) return i;
    }
    return kMiss;
  }
  // The site of that rank; 0: there is none.
  [[nodiscard]] LocalSite follower(uint8_t rank) const { return sites_[previous_].followers[rank]; }

  // Notes that the site came: it is the first of its predecessor's followers from now on.
  void advance(LocalSite local, uint8_t rank) {
    Followers& followers = sites_[previous_].followers;
    for (uint8_t i = rank < kMiss ? rank : kMiss - 1; i > 0; --i) followers[i] = followers[i - 1];
    followers[0] = local;
    previous_ = local;
  }

  // The same for rank 0, where nothing moves.
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
  // A site that is new in the frame: gives its local number.
  SiteModel::LocalSite add(model::SiteId site);
  // What a loop over events keeps at hand. Between cursor() and keep() nothing else changes the encoder, but add().
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
  // The next event's site. `is_new`: it was added for this event.
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
  // Lays the misses out: one byte plane after the other, as many as the frame's sites need.
  void end();

  ByteBuffer ranks;   // of each rank but 0: how many of 0 came before it, and the rank
  ByteBuffer misses;  // a number a miss: the local site, 0 for a new one; in byte planes
  ByteBuffer fresh;   // of each new one the distance of its number from the last new one's

 private:
  void put_other(SiteModel::LocalSite site, bool is_new);

  SiteModel model_;
  uint64_t zeros_ = 0;  // ranks of 0 at the end
  std::vector<uint32_t> misses_;
  model::SiteId previous_fresh_ = 0;
};

class SiteDecoder {
 public:
  // The streams have to stay where they are until the frame is done. False: they don't hold together.
  bool begin(size_t site_count, size_t event_count, const std::vector<uint8_t>& ranks,
             const std::vector<uint8_t>& misses, const std::vector<uint8_t>& fresh);
  // The next event's site. False: damage.
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
  // Whether one of the sites that the frame names is `wanted`.
  template <typename Wanted>
  [[nodiscard]] bool names(Wanted wanted) const {
    uint64_t site = 0;
    for (wire::VarintReader fresh = fresh_; !fresh.at_end();) {
      site += static_cast<uint64_t>(fresh.signed_varint());
      if (site < site_count_ && wanted(static_cast<model::SiteId>(site))) return true;
    }
    return false;
  }
  // Whether one of them is none that there is.
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
  uint64_t zeros_ = 0;     // that come before the next other rank
  uint8_t next_rank_ = 0;  // the one behind them
  const uint8_t* misses_ = nullptr;
  size_t miss_count_ = 0;
  size_t miss_planes_ = 0;
  size_t miss_ = 0;
  wire::VarintReader fresh_;
  model::SiteId previous_fresh_ = 0;
};

}  // namespace heaptap::trace
