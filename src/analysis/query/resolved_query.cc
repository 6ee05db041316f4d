#include "analysis/query/resolved_query.h"

#include <string>
#include <utility>

#include "analysis/findings/resident_text.h"
#include "analysis/report/focus.h"
#include "analysis/report/leak_weight.h"

namespace heaptap::query {
namespace {

// The end has a scan, if it is the last one's moment.
bool is_at_scan(const Span& span, const model::EventSource& source) {
  return span.last.time_ns == kEndNs && !source.scans().empty() &&
         source.scans().back().facts.reason == model::ScanReason::kEnd;
}

}  // namespace

base::Result<> check_fragmentation(const Query& asked, const model::EventSource& source) {
  if (asked.leaks.fragmentation != FragmentationAt::kWindow) return {};
  const auto refuse = [](const std::string& what) {
    return base::fail_as(base::ErrorKind::kUsage, "fragmentation: {}", what);
  };
  if (!asked.window.from.empty())
    return refuse("--from leaves out blocks of the same pages, so that only --to can be given");
  if (asked.filter.thread != 0) return refuse("--thread leaves out blocks of the same pages");
  if (asked.window.to.empty()) return {};
  if (asked.leaks.scan != 0) return refuse("--scan and --to are two moments: give one of them");
  const std::string& tool = source.capture().import.tool;
  if (!tool.empty())
    return refuse(tool + "'s file doesn't have addresses of blocks; a recording by `heaptap run` does");
  return {};
}

base::Result<ResolvedQuery> resolve(const Query& asked, const model::EventSource& source,
                                    const std::optional<Moment>& peak) {
  const LeakQuestion& leaks = asked.leaks;
  HEAPTAP_TRY(check_fragmentation(asked, source));
  const auto span = resolve_window(asked.window, source.marks(), peak);
  if (!span) return std::unexpected(span.error());
  const bool at_moment =
      leaks.fragmentation == FragmentationAt::kWindow && !asked.window.to.empty() && !is_at_scan(*span, source);
  ResolvedQuery query{.asked = asked,
                      .span = *span,
                      .suppressions = asked.leaks.suppressions,
                      .scan = asked.leaks.scan,
                      .sort = asked.listing.sort.value_or(SortKey::kUsage),
                      .also = std::nullopt,
                      .leaks_only = asked.listing.leaks_only,
                      .globals = leaks.globals,
                      .fragmentation = leaks.fragmentation != FragmentationAt::kNowhere && !at_moment,
                      .fragmentation_at_moment = at_moment};
  if (!asked.leaks.carried_suppressions) return query;
  if (const auto added = query.suppressions.add(source.capture().suppressions); !added) {
    return base::fail("the suppressions in the trace: {}; --no-suppressions leaves them out", added.error().message);
  }
  return query;
}

ResolvedQuery settled(ResolvedQuery query, const report::Report& report) {
  const SortKey by_focus = sort_of(report::focus_of(report));
  if (!query.asked.listing.sort) query.sort = by_focus;
  const report::Leaks& leaks = report.leaks;
  const bool do_lead = report::leaks_lead(report.totals, leaks);
  const bool is_beside = report::reachable_outweighs(report.totals, leaks);
  if (query.asked.listing.leaks_else_reachable) {
    query.leaks_only = do_lead;
    query.sort = do_lead ? SortKey::kLeakedBytes : by_focus;
    if (do_lead && (is_beside || by_focus != SortKey::kUsage)) query.also = by_focus;
    query.fragmentation = findings::free_memory_leads(report.totals);
  }
  if (query.asked.leaks.holder || query.asked.listing.leaks_else_reachable)
    query.globals = leaks.scanned && leaks.reachable.blocks != 0 && (is_beside || !do_lead);
  return query;
}

}  // namespace heaptap::query
