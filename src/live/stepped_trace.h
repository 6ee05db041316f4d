// The trace of a recording that goes on, read up to one moment after the other, and no further: what is reported of a moment is what
// a reader finds who ends there. Nothing is read between two of them. Its memory depends on live blocks and different stacks.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "analysis/analyze.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "trace/trace_reader.h"

namespace heaptap::live {

class SteppedTrace {
 public:
  // Fails for what is no file. `counts`: as of analysis::Analysis.
  static base::Result<std::unique_ptr<SteppedTrace>> open(base::UniqueFd file, analysis::Query counts);

  // Up to this byte of the file, where a frame ends.
  base::Result<> advance(uint64_t bytes);
  // Of what was read. A trace of totals has no moments: it is as it is now.
  base::Result<report::Report> report(const analysis::Query& query);
  // A name under which the whole file can be opened.
  [[nodiscard]] std::string path() const;

 private:
  SteppedTrace(base::UniqueFd file, trace::TraceReader reader, analysis::Query counts)
      : file_(std::move(file)), reader_(std::move(reader)), analysis_(reader_, std::move(counts)) {}

  const base::UniqueFd file_;
  trace::TraceReader reader_;
  analysis::Analysis analysis_;
};

}  // namespace heaptap::live
