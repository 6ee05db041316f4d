// Trace of a live recording, read in steps up to given moments: a report of a moment equals one of the file cut there. Nothing is read
// between two steps. Memory depends on live blocks and distinct stacks.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "analysis/query/analyze.h"
#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "record/trace/trace_reader.h"

namespace heaptap::client {

class SteppedTrace {
 public:
  // Fails if `file` isn't a trace. `counts`: see query::Analysis.
  static base::Result<std::unique_ptr<SteppedTrace>> open(base::UniqueFd file, query::Query counts);

  // Reads up to this byte of the file, which must be the end of a frame.
  base::Result<> advance(uint64_t bytes);
  // Reads about `bytes` more of what is complete, up to the frame in which `end` is. False: that is all.
  base::Result<bool> advance_some(uint64_t bytes, uint64_t end);
  // Size of the file now.
  [[nodiscard]] uint64_t file_bytes() const;
  // Report of the bytes read. A trace of totals has no moments: it is read in its current state.
  base::Result<report::Report> report(const query::Query& query);
  // Of the bytes read.
  [[nodiscard]] model::EventSource& source() { return reader_; }
  // Path by which the whole file can be opened.
  [[nodiscard]] std::string path() const;

 private:
  SteppedTrace(base::UniqueFd file, trace::TraceReader reader, query::Query counts)
      : file_(std::move(file)), reader_(std::move(reader)), analysis_(reader_, std::move(counts)) {}

  const base::UniqueFd file_;
  trace::TraceReader reader_;
  query::Analysis analysis_;
};

}  // namespace heaptap::client
