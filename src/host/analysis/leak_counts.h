// What one leak scan says of the blocks of each site: how many are lost, how, and what is lost below them.
#pragma once
#include <functional>
#include <vector>

#include "host/leaks/classify.h"
#include "host/model/heap_scan.h"
#include "host/report/report.h"

namespace heaptap::analysis {

class LeakCounts {
 public:
  // Whether the blocks of a site count at all, and whether its leaks are known ones.
  using SitePredicate = std::function<bool(model::SiteId)>;
  struct Rules {
    leaks::LeakOptions options;
    SitePredicate counts = nullptr;      // null: all
    SitePredicate suppresses = nullptr;  // null: none. Asked once for each site with a leak
    std::function<bool(const model::ScannedBlock&)> counts_block = nullptr;
  };

  LeakCounts(const model::HeapScan& scan, const Rules& rules);

  [[nodiscard]] const leaks::Classification& classes() const { return classes_; }
  // Suppressed leaks are none.
  [[nodiscard]] bool is_suppressed(uint32_t block) const { return suppressed_[block] != 0; }
  // Null: the scan has no block of it.
  [[nodiscard]] const report::StackLeaks* of(model::SiteId site) const {
    return site < sites_.size() ? &sites_[site] : nullptr;
  }
  // Counts of all sites together.
  void fill(report::Leaks& leaks) const;

 private:
  void suppress(const model::HeapScan& scan, const Rules& rules);
  void count(const model::HeapScan& scan, const Rules& rules);

  leaks::Classification classes_;
  std::vector<uint8_t> suppressed_;  // by block
  std::vector<report::StackLeaks> sites_;
};

}  // namespace heaptap::analysis
