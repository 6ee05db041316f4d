#include "model/live_source.h"

#include <cstddef>
#include <utility>

namespace heaptap::model {
namespace {

// Entries never change, and are never taken back.
template <typename Entry>
void append_new(std::vector<Entry>& known, const std::vector<Entry>& all) {
  known.insert(known.end(), all.begin() + static_cast<ptrdiff_t>(known.size()), all.end());
}

// Without what makes a scan large.
ScanSummary summary_of(const HeapScan& scan) {
  ScanSummary summary;
  summary.facts.number = scan.number;
  summary.facts.reason = scan.reason;
  summary.facts.time_ns = scan.time_ns;
  summary.facts.events_before = scan.events_before;
  summary.facts.stopped_ns = scan.stopped_ns;
  summary.facts.total_ns = scan.total_ns;
  summary.facts.read_bytes = scan.read_bytes;
  summary.facts.skipped_bytes = scan.skipped_bytes;
  summary.facts.threads = scan.threads;
  summary.facts.notes = scan.notes;
  summary.block_count = scan.blocks.size();
  summary.pointer_count = scan.pointers.size();
  summary.root_count = scan.roots.size();
  return summary;
}

}  // namespace

void LiveSource::learn(const Tables& tables) {
  append_new(tables_.sites, tables.sites);
  append_new(tables_.stacks, tables.stacks);
  append_new(tables_.codes, tables.codes);
  append_new(tables_.modules, tables.modules);
  append_new(tables_.threads, tables.threads);
}

void LiveSource::on_batch(const EventBatch& batch, const Tables& tables) {
  learn(tables);
  batches_.push_back(batch);
}

void LiveSource::on_totals(const Totals& totals, const Tables& tables) {
  learn(tables);
  totals_ = totals;
}

void LiveSource::add_scan(HeapScan scan, const Tables& tables) {
  learn(tables);
  summaries_.push_back(summary_of(scan));
  scans_.push_back(std::move(scan));
}

base::Result<> LiveSource::replay(EventSink& sink, const ReplayOptions& options) {
  if (options.events) {
    for (const EventBatch& batch : batches_) sink.on_batch(batch, tables_);
  }
  if (totals_) sink.on_totals(*totals_, tables_);
  return {};
}

}  // namespace heaptap::model
