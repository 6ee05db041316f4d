// Reads a trace file: tables, capture facts and the events, batch by batch, in memory that doesn't grow with the file.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/event_source.h"

namespace heaptap::trace {

using model::EventSink;
using model::ReplayOptions;

class TraceReader : public model::EventSource {
 public:
  // Fails for a file that can't be read, is no trace, or has a newer version. A trace that is cut off, damaged, or being
  // written opens; what can be read of it is read, and capture().truncated and .damage say after replay() what can't.
  static base::Result<TraceReader> open(const std::string& path);
  TraceReader(TraceReader&&) noexcept;
  TraceReader& operator=(TraceReader&&) noexcept;
  ~TraceReader() override;

  // Reads the whole trace once. May be called again; each call starts from the beginning.
  base::Result<> replay(EventSink& sink, const ReplayOptions& options) override;
  base::Result<> replay(EventSink& sink) { return replay(sink, {}); }

  // Gives what has come to the file since the last call, as far as it is whole; the first call begins at the file's beginning. All
  // that is asked below is then as of that moment. Not to be mixed with replay() on one reader. Addresses as in
  // `options`; always in the caller's thread.
  base::Result<> follow(EventSink& sink, const ReplayOptions& options);
  // How far that came, in bytes of the file, and how large it was.
  [[nodiscard]] uint64_t followed_bytes() const;
  [[nodiscard]] uint64_t file_bytes() const;

  // Complete after replay(); before it, what the frames of facts say at the file's beginning and end.
  [[nodiscard]] const model::Capture& capture() const override;
  [[nodiscard]] const model::Tables& tables() const override;

  // The leak scans that are whole, in order; known from open() on. Of others `scan_notes` says why they can't be used.
  [[nodiscard]] const std::vector<model::ScanSummary>& scans() const override;
  [[nodiscard]] const std::vector<model::Note>& scan_notes() const override;
  // One of scans(), with all that it holds. Needs no replay, and changes nothing of what one gave: another thread may replay
  // the trace meanwhile.
  base::Result<model::HeapScan> load_scan(size_t index) override;
  [[nodiscard]] const std::vector<model::Mark>& marks() const override;
  [[nodiscard]] const std::vector<model::BlockName>& block_names() const override;

 private:
  class Impl;
  explicit TraceReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace heaptap::trace
