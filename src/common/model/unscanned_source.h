// Event source without leak scans.
#pragma once
#include <vector>

#include "common/model/event_source.h"

namespace heaptap::model {

class UnscannedSource : public EventSource {
 public:
  [[nodiscard]] const std::vector<ScanSummary>& scans() const override { return no_scans_; }
  [[nodiscard]] const std::vector<Note>& scan_notes() const override { return no_notes_; }
  base::Result<HeapScan> load_scan(size_t index) override { return base::fail("no leak scan {}", index); }

 private:
  std::vector<ScanSummary> no_scans_;
  std::vector<Note> no_notes_;
};

}  // namespace heaptap::model
