// Analysis of a source of events into a Report: replays it through the ledger, merges, filters, sorts, and resolves the names shown.
#pragma once
#include <memory>

#include "analysis/query/query.h"
#include "analysis/report/report.h"
#include "common/base/result.h"
#include "common/model/event_source.h"

namespace heaptap::query {

base::Result<report::Report> analyze(model::EventSource& source, const Query& query);

// Incremental analysis of a live source: counts events as they arrive, and reports the state at any time.
class Analysis : public model::EventSink {
 public:
  // The source must outlive this and deliver its events and totals here; everything else is queried from it. `counts`: filters, and the
  // data to keep.
  Analysis(model::EventSource& source, Query counts);
  ~Analysis() override;

  void on_batch(const model::EventBatch& batch, const model::Tables& tables) override;
  void on_totals(const model::Totals& totals, const model::Tables& tables) override;

  base::Result<report::Report> report() { return report(counts_); }
  // Whether another query can be answered from the counted data: same filters, and no further data needed. Totals replace earlier
  // ones, which a ledger can't do: after any totals nothing can be answered.
  [[nodiscard]] bool can_answer(const Query& query) const;
  // The result of analyze() for the source's current state; the query must be one that can be answered.
  base::Result<report::Report> report(const Query& query);
  // Same, for repeated calls: symbols, the classification of a scan and the grouping of stacks are cached. (So a hint at missing symbols
  // may name another module.)
  base::Result<report::Report> glance(const Query& query);

 private:
  struct Counted;
  struct Kept;

  model::EventSource& source_;
  const Query counts_;
  std::unique_ptr<Counted> counted_;
  std::unique_ptr<Kept> kept_;
  bool has_totals_ = false;
};

}  // namespace heaptap::query
