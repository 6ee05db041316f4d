#include "analysis/query/resolved_query.h"

#include <utility>

#include "analysis/report/focus.h"
#include "analysis/report/leak_weight.h"

namespace heaptap::query {

base::Result<ResolvedQuery> resolve(const Query& asked, const model::EventSource& source) {
  const auto span = resolve_window(asked.window, source.marks());
  if (!span) return std::unexpected(span.error());
  ResolvedQuery query{.asked = asked,
                      .span = *span,
                      .suppressions = asked.leaks.suppressions,
                      .scan = asked.leaks.scan,
                      .sort = asked.listing.sort.value_or(SortKey::kUsage),
                      .also = std::nullopt,
                      .leaks_only = asked.listing.leaks_only,
                      .globals = asked.leaks.globals};
  if (!asked.leaks.carried_suppressions) return query;
  if (const auto added = query.suppressions.add(source.capture().suppressions); !added) {
    return base::fail("the suppressions in the trace: {}; --no-suppressions leaves them out", added.error().message);
  }
  return query;
}

ResolvedQuery settled(ResolvedQuery query, const report::Report& report) {
  const SortKey by_focus = sort_of(report::focus_of(report));
  if (!query.asked.listing.sort) query.sort = by_focus;
  if (!query.asked.listing.leaks_else_reachable) return query;
  const report::Leaks& leaks = report.leaks;
  query.leaks_only = report::leaks_lead(report.totals, leaks);
  query.sort = query.leaks_only ? SortKey::kLeakedBytes : by_focus;
  if (query.leaks_only && by_focus != SortKey::kUsage) query.also = by_focus;
  query.globals = leaks.scanned && !query.leaks_only && leaks.reachable.blocks != 0;
  return query;
}

}  // namespace heaptap::query
