// The source of a recording that goes on: keeps the batches that a trace is written from, as they come. One thread.
#pragma once
#include <string>
#include <vector>

#include "model/event_source.h"

namespace heaptap::model {

class LiveSource : public EventSource, public EventSink {
 public:
  explicit LiveSource(Capture capture) { set_capture(std::move(capture)); }

  void on_batch(const EventBatch& batch, const Tables& tables) override;
  void on_totals(const Totals& totals, const Tables& tables) override;
  void add_scan(HeapScan scan, const Tables& tables);
  // What is known by now. As long as it has no end the recording goes on.
  void set_capture(Capture capture) {
    capture_ = std::move(capture);
    capture_.running = capture_.truncated = !capture_.ended;
  }

  base::Result<> replay(EventSink& sink, const ReplayOptions& options) override;
  [[nodiscard]] const Capture& capture() const override { return capture_; }
  [[nodiscard]] const Tables& tables() const override { return tables_; }
  [[nodiscard]] const std::vector<ScanSummary>& scans() const override { return summaries_; }
  [[nodiscard]] const std::vector<Note>& scan_notes() const override { return no_notes_; }
  base::Result<HeapScan> load_scan(size_t index) override { return scans_[index]; }

 private:
  void learn(const Tables& tables);

  Capture capture_;
  Tables tables_;
  std::vector<EventBatch> batches_;
  std::optional<Totals> totals_;
  std::vector<HeapScan> scans_;
  std::vector<ScanSummary> summaries_;
  std::vector<Note> no_notes_;
};

}  // namespace heaptap::model
