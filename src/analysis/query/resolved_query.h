// Query resolved for one source: times and marks as moments, suppressions with those of the trace. Private to analysis/.
#pragma once
#include <cstdint>
#include <optional>

#include "analysis/query/query.h"
#include "analysis/query/sort_key.h"
#include "analysis/query/suppressions.h"
#include "analysis/query/window.h"
#include "analysis/report/report.h"
#include "common/base/result.h"
#include "common/model/event_source.h"

namespace heaptap::query {

// Query with its moments and numbers resolved; the rest is in `asked`, which must outlive this.
struct ResolvedQuery {
  const Query& asked;
  Span span;                  // of asked.window
  Suppressions suppressions;  // asked.leaks.suppressions, and the trace's own
  uint32_t scan;              // number; 0: the last one
  // As asked, until settled().
  SortKey sort;
  std::optional<SortKey> also;  // of further stacks behind those with leaks
  bool leaks_only;
  bool globals;
  // Where free memory is: at the scan, or at the end of `span`.
  bool fragmentation;
  bool fragmentation_at_moment;
};

// What a question about fragmentation doesn't go together with: known before events are read.
base::Result<> check_fragmentation(const Query& asked, const model::EventSource& source);

// `peak`: of the live bytes; none: isn't known.
base::Result<ResolvedQuery> resolve(const Query& asked, const model::EventSource& source,
                                    const std::optional<Moment>& peak = {});

// Choice between leaks and reachable blocks (Listing::leaks_else_reachable), and of a sort key by the focus. Needs the report's
// figures and leaks.
ResolvedQuery settled(ResolvedQuery query, const report::Report& report);

}  // namespace heaptap::query
