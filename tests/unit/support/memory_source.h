// In-memory source of events, recorded as a sink.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/model/event_source.h"

namespace heaptap::test {

class MemorySource : public model::EventSource, public model::EventSink {
 public:
  explicit MemorySource(model::Capture capture) : capture_(std::move(capture)) {
    capture_.running = capture_.truncated = !capture_.ended;
  }

  void on_batch(const model::EventBatch& batch, const model::Tables& tables) override {
    learn(tables);
    batches_.push_back(batch);
  }
  void on_totals(const model::Totals& totals, const model::Tables& tables) override {
    learn(tables);
    totals_ = totals;
  }

  base::Result<> replay(model::EventSink& sink, const model::ReplayOptions& options) override {
    if (options.events) {
      for (const model::EventBatch& batch : batches_) sink.on_batch(batch, tables_);
    }
    if (totals_) sink.on_totals(*totals_, tables_);
    return {};
  }
  [[nodiscard]] const model::Capture& capture() const override { return capture_; }
  [[nodiscard]] const model::Tables& tables() const override { return tables_; }
  [[nodiscard]] const std::vector<model::ScanSummary>& scans() const override { return no_scans_; }
  [[nodiscard]] const std::vector<model::Note>& scan_notes() const override { return no_notes_; }
  base::Result<model::HeapScan> load_scan(size_t /*index*/) override { return base::fail("no scan was made"); }
  [[nodiscard]] const std::vector<model::ResidentSample>& resident() const override { return resident_; }
  void set_resident(std::vector<model::ResidentSample> samples) { resident_ = std::move(samples); }

 private:
  // Entries never change, and are never taken back.
  template <typename Entry>
  static void append_new(std::vector<Entry>& known, const std::vector<Entry>& all) {
    known.insert(known.end(), all.begin() + static_cast<ptrdiff_t>(known.size()), all.end());
  }
  void learn(const model::Tables& tables) {
    append_new(tables_.sites, tables.sites);
    append_new(tables_.stacks, tables.stacks);
    append_new(tables_.codes, tables.codes);
    append_new(tables_.modules, tables.modules);
    append_new(tables_.threads, tables.threads);
  }

  model::Capture capture_;
  model::Tables tables_;
  std::vector<model::EventBatch> batches_;
  std::optional<model::Totals> totals_;
  std::vector<model::ResidentSample> resident_;
  std::vector<model::ScanSummary> no_scans_;
  std::vector<model::Note> no_notes_;
};

}  // namespace heaptap::test
