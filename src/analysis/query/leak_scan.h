// Leak scan selected by a query, read from a trace and counted.
#pragma once
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/ledger/ledger.h"
#include "analysis/query/ignored_stacks.h"
#include "analysis/query/leak_counts.h"
#include "analysis/query/resolved_query.h"
#include "analysis/query/stack_names.h"

namespace heaptap::query {

struct JudgedLeaks {
  model::ScanSummary summary;
  model::HeapScan scan;
  LeakCounts counts;
};

// Background reader of the selected scan, which also follows its pointers; on a single processor it runs when needed. Does nothing
// without a scan. The source must outlive it, and may replay its trace in parallel.
class ScanAhead {
 public:
  ScanAhead(model::EventSource& source, const ResolvedQuery& query);
  struct Reached {
    model::HeapScan scan;
    std::vector<leaks::BlockState> states;  // of leaks::reach
  };
  // To be called once, if there is a scan.
  base::Result<Reached> take();

 private:
  std::future<base::Result<Reached>> scan_;
};

// Whether the question needs a scan.
bool needs_scan(const ResolvedQuery& query);

// Null: the trace has no scan (an error if the query needs one, or names a missing one). `ledger` decides on blocks for filters that a
// scan has no data for.
base::Result<std::unique_ptr<JudgedLeaks>> judge_leaks(model::EventSource& source, const ResolvedQuery& query,
                                                       StackNames& names, IgnoredStacks& ignored,
                                                       const ledger::Ledger& ledger, ScanAhead& ahead);

report::ScanFacts facts_of(const model::ScanSummary& summary);

// Blocks of the scan kept by libraries. Resolves names by `names`.
std::vector<report::KeptByLibrary> count_kept(const JudgedLeaks& judged, const model::Tables& tables,
                                              StackNames& names);

void fill(report::Leaks& leaks, const JudgedLeaks& judged, size_t scan_count, const Suppressions& suppressions);

}  // namespace heaptap::query
