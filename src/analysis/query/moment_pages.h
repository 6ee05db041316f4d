// Pages with live blocks at a moment without a scan. Private to query/.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/ledger/ledger.h"
#include "analysis/query/fragmentation_view.h"
#include "analysis/report/fragmentation.h"
#include "analysis/report/report.h"
#include "common/base/result.h"

namespace heaptap::query {

struct PlacedBlocks {
  std::vector<SiteKeep> sites;     // by site
  report::BlockCount placed = {};  // no address counts twice
  report::BlockCount unplaced = {};
  uint64_t pages = 0;
  uint64_t rest_bytes = 0;
};
// The ledger's live blocks; it keeps addresses, and 0 for those that the trace doesn't have (record/trace/event_frame.h).
PlacedBlocks place_blocks(const ledger::Ledger& ledger, uint64_t page_bytes);

// The peak of the source's live bytes, by a replay of its own. Fails where there is none.
base::Result<Moment> find_peak(model::EventSource& source);

// Sets report.moment_pages, or leaves it unknown. `ledger`: of all blocks up to the moment, with addresses. Needs the report's capture
// and known verdicts. Fails for a moment that isn't in the recording.
base::Result<> fill_moment_pages(report::Report& report, const model::EventSource& source, const KeepLists& lists,
                                 const ledger::Ledger& ledger);

}  // namespace heaptap::query
