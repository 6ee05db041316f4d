// Reads a trace file: tables, capture facts and the events, batch by batch, in memory that doesn't grow with the file.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/capture.h"
#include "model/event.h"
#include "model/heap_scan.h"
#include "model/tables.h"
#include "model/totals.h"
#include "trace/scan_frames.h"

namespace heaptap::trace {

// Gets the events in order. The tables are complete for everything that the batch refers to.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on_batch(const model::EventBatch& batch, const model::Tables& tables) = 0;
  // Totals in place of blocks' events; the last ones hold.
  virtual void on_totals(const model::Totals& /*totals*/, const model::Tables& /*tables*/) {}
};

struct ReplayOptions {
  bool events = true;      // false: the tables and the facts alone
  bool addresses = false;  // fill Event::address of allocations (costs time)
  // Frames are decoded by a thread of their own, ahead of the sink (which is always called in the caller's). Changes
  // nothing of what comes. Empty: where there is more than one processor.
  std::optional<bool> decoder_thread = {};
  // Called now and then with the bytes read so far and the file's size.
  std::function<void(uint64_t done, uint64_t total)> progress;
};

class TraceReader {
 public:
  // Fails for a file that can't be read, is no trace, or has a newer version. A trace that is cut off, damaged, or being
  // written opens; what can be read of it is read, and capture().truncated and .damage say after replay() what can't.
  static base::Result<TraceReader> open(const std::string& path);
  TraceReader(TraceReader&&) noexcept;
  TraceReader& operator=(TraceReader&&) noexcept;
  ~TraceReader();

  // Reads the whole trace once. May be called again; each call starts from the beginning.
  base::Result<> replay(EventSink& sink, const ReplayOptions& options = {});

  // Complete after replay(); before it, what the frames of facts say at the file's beginning and end.
  [[nodiscard]] const model::Capture& capture() const;
  [[nodiscard]] const model::Tables& tables() const;

  // The leak scans that are whole, in order; known from open() on. Of others `scan_notes` says why they can't be used.
  [[nodiscard]] const std::vector<ScanSummary>& scans() const;
  [[nodiscard]] const std::vector<model::Note>& scan_notes() const;
  // One of scans(), with all that it holds. Needs no replay, and changes nothing of what one gave: another thread may replay
  // the trace meanwhile.
  base::Result<model::HeapScan> load_scan(size_t index);

 private:
  class Impl;
  explicit TraceReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace heaptap::trace
