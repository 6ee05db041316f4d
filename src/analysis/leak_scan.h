// Takes the leak scan that a query asks for out of a trace, and counts what it says.
#pragma once
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/analyze.h"
#include "analysis/ignored_stacks.h"
#include "analysis/leak_counts.h"
#include "analysis/stack_names.h"
#include "ledger/ledger.h"

namespace heaptap::analysis {

struct JudgedLeaks {
  model::ScanSummary summary;
  model::HeapScan scan;
  LeakCounts counts;
};

// Reads the scan that a query asks for, and follows its pointers, while other things are done, where there are processors;
// nothing where there is no scan. The source must outlive it, and may replay its trace meanwhile.
class ScanAhead {
 public:
  ScanAhead(model::EventSource& source, const Query& query);
  struct Reached {
    model::HeapScan scan;
    std::vector<leaks::BlockState> states;  // of leaks::reach
  };
  // Once, where there is a scan.
  base::Result<Reached> take();

 private:
  std::future<base::Result<Reached>> scan_;
};

// Whether the question is about a scan, so that it can't be answered without one.
bool needs_scan(const Query& query);

// Null: the trace has no scan (an error where the query needs one, or names one that isn't there). `ledger` tells which blocks pass filters
// that a scan knows nothing of.
base::Result<std::unique_ptr<JudgedLeaks>> judge_leaks(model::EventSource& source, const Query& query,
                                                       StackNames& names, IgnoredStacks& ignored,
                                                       const ledger::Ledger& ledger, ScanAhead& ahead);

report::ScanFacts facts_of(const model::ScanSummary& summary);

// What of it libraries keep for themselves. Takes names from `names`.
std::vector<report::KeptByLibrary> count_kept(const JudgedLeaks& judged, const model::Tables& tables,
                                              StackNames& names);

void fill(report::Leaks& leaks, const JudgedLeaks& judged, size_t scan_count, const Suppressions& suppressions);

}  // namespace heaptap::analysis
