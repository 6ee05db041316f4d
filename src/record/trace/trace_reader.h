// Reader of a trace file: tables, capture facts and events, in batches, with memory independent of the file's size.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/model/event_source.h"

namespace heaptap::trace {

using model::EventSink;
using model::ReplayOptions;

class TraceReader : public model::EventSource {
 public:
  // Fails for a file that is unreadable, no trace, or of a newer version. A trace that is truncated, damaged, or still being
  // written opens; its readable part is read, and after replay() capture().truncated and .damage describe the rest.
  static base::Result<TraceReader> open(const std::string& path);
  TraceReader(TraceReader&&) noexcept;
  TraceReader& operator=(TraceReader&&) noexcept;
  ~TraceReader() override;

  // Reads the whole trace once. May be called again; each call starts from the beginning.
  base::Result<> replay(EventSink& sink, const ReplayOptions& options) override;
  base::Result<> replay(EventSink& sink) { return replay(sink, {}); }

  // Delivers the complete data added to the file since the last call; the first call begins at the file's beginning.
  // The getters below then have the state of that moment. Don't combine with replay() on one reader. Addresses
  // according to `options`; always in the caller's thread.
  base::Result<> follow(EventSink& sink, const ReplayOptions& options);
  // Bytes of the file read by follow(), and the file's size then.
  [[nodiscard]] uint64_t followed_bytes() const;
  [[nodiscard]] uint64_t file_bytes() const;

  // Complete after replay(); before it, the facts at the file's beginning and end.
  [[nodiscard]] const model::Capture& capture() const override;
  [[nodiscard]] const model::Tables& tables() const override;

  // Complete leak scans, in order; known from open() on. `scan_notes` explains why others are unusable.
  [[nodiscard]] const std::vector<model::ScanSummary>& scans() const override;
  [[nodiscard]] const std::vector<model::Note>& scan_notes() const override;
  // Loads one of scans() with all its data. Needs no replay and doesn't affect one: another thread may replay the trace
  // at the same time.
  base::Result<model::HeapScan> load_scan(size_t index) override;
  [[nodiscard]] const std::vector<model::Mark>& marks() const override;
  [[nodiscard]] const std::vector<model::BlockName>& block_names() const override;
  [[nodiscard]] const std::vector<model::ResidentSample>& resident() const override;

 private:
  class Impl;
  explicit TraceReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace heaptap::trace
