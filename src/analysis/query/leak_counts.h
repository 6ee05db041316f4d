// Leak counts of one scan by site: lost blocks by state, and blocks lost below them.
#pragma once
#include <functional>
#include <vector>

#include "analysis/leaks/classify.h"
#include "analysis/report/report.h"
#include "common/model/heap_scan.h"

namespace heaptap::query {

// Malloc block that contains a pool's block; kNoBlock: not of a pool, or in a mapping.
uint32_t memory_of(const model::HeapScan& scan, uint32_t pooled);

class LeakCounts {
 public:
  // Predicate on sites: whether their blocks count, or are ignored.
  using SitePredicate = std::function<bool(model::SiteId)>;
  // Number of the suppression that hides a site's leaks of this state; kNotSuppressed: none.
  using Suppressor = std::function<uint32_t(model::SiteId, leaks::BlockState)>;
  static constexpr uint32_t kNotSuppressed = 0xffffffff;
  struct Rules {
    leaks::LeakOptions options;
    SitePredicate counts = nullptr;   // null: all
    Suppressor suppressor = nullptr;  // null: none; called once for each site and state of its leaks
    SitePredicate ignores = nullptr;  // sites not listed; null: none
    std::function<bool(const model::ScannedBlock&)> counts_block = nullptr;
    // Whether the program released a block after the scan, so that it counts as neither lost nor live; null: none.
    std::function<bool(const model::ScannedBlock&)> was_released = nullptr;
  };

  LeakCounts(const model::HeapScan& scan, const Rules& rules)
      : LeakCounts(scan, rules, leaks::reach(scan, rules.options)) {}
  // With the result of leaks::reach.
  LeakCounts(const model::HeapScan& scan, const Rules& rules, std::vector<leaks::BlockState> reached);

  [[nodiscard]] const leaks::Classification& classes() const { return classes_; }
  // Suppressed blocks don't count as leaks.
  [[nodiscard]] bool is_suppressed(uint32_t block) const {
    return !suppressed_by_.empty() && suppressed_by_[block] != kNotSuppressed;
  }
  // Lost, not suppressed, and of an ignored site, or below such a block.
  [[nodiscard]] bool is_ignored(uint32_t block) const { return !ignored_.empty() && ignored_[block] != 0; }
  [[nodiscard]] bool is_hidden(uint32_t block) const { return is_suppressed(block) || is_ignored(block); }
  [[nodiscard]] bool is_counted(uint32_t block) const { return counted_.empty() || counted_[block] != 0; }
  // Counted, not hidden, and lost, or also possibly lost.
  [[nodiscard]] bool is_leak(uint32_t block, bool or_possible) const;
  // A counted leak that is definitely lost and points to itself, by way of other blocks.
  [[nodiscard]] bool is_in_cycle(uint32_t block) const {
    return in_cycles_[block] != 0 && is_leak(block, /*or_possible=*/false);
  }
  // Blocks hidden by this suppression, including blocks that the rules don't count.
  [[nodiscard]] report::BlockCount hidden_by(uint32_t suppression) const {
    return suppression < hidden_.size() ? hidden_[suppression] : report::BlockCount{};
  }
  // Null: the scan has no block of the site.
  [[nodiscard]] const report::StackLeaks* of(model::SiteId site) const {
    return site < places_.size() && places_[site] != kNoPlace ? &counts_[places_[site]] : nullptr;
  }
  // Another site, whose definitely lost blocks lead to indirectly lost ones of this site: the first in the scan; kNoSite: none.
  [[nodiscard]] model::SiteId holder_of(model::SiteId site) const {
    return site < places_.size() && places_[site] != kNoPlace ? holders_[places_[site]].first : kNoSite;
  }
  // Whether there are further ones.
  [[nodiscard]] bool has_more_holders(model::SiteId site) const {
    return site < places_.size() && places_[site] != kNoPlace && holders_[places_[site]].has_more;
  }
  static constexpr model::SiteId kNoSite = 0xffffffff;

  // Sums over all sites.
  void fill(report::Leaks& leaks) const;

 private:
  void find_behind_headers(const model::HeapScan& scan, const leaks::LeakOptions& options);
  void find_behind_tags(const model::HeapScan& scan, const leaks::LeakOptions& options);
  void suppress(const model::HeapScan& scan, const Rules& rules);
  void ignore(const model::HeapScan& scan, const Rules& rules);
  void count(const model::HeapScan& scan, const Rules& rules);
  void count_pooled_apart(const model::HeapScan& scan);
  report::StackLeaks& counts_for(model::SiteId site);
  void note_holder(model::SiteId site, model::SiteId holder);

  static constexpr uint32_t kNoPlace = 0xffffffff;
  leaks::Classification classes_;
  std::vector<uint32_t> suppressed_by_;  // by block; empty if there are no suppressions
  std::vector<uint8_t> ignored_;         // by block, 1: ignored; empty if there are no rules
  std::vector<uint8_t> behind_headers_;  // by block, 1: held by pointers behind headers alone; empty if none is
  std::vector<uint8_t>
      behind_tags_;  // by block, 1: only words that are no plain pointers lead to it; empty where none is
  std::vector<uint8_t> in_cycles_;          // by block: see lost_cycles.h
  std::vector<uint8_t> counted_;            // by block; empty: all
  std::vector<report::BlockCount> hidden_;  // by suppression
  std::vector<uint32_t> places_;            // by site: index into counts_; few sites have live blocks
  std::vector<report::StackLeaks> counts_;
  struct HoldingSites {
    model::SiteId first = kNoSite;
    bool has_more = false;
  };
  std::vector<bool> is_pooled_;                   // by index
  report::BlockCount released_since_;             // after the scan
  report::BlockCount behind_tags_count_;          // not certain leaks because of these pointers alone
  report::BlockCount lost_apart_, leaked_apart_;  // see report::PoolLeaks
  std::vector<HoldingSites> holders_;             // parallel to counts_
};

}  // namespace heaptap::query
