// The earlier recordings that `heaptap check` compares with: one for all traces, or a directory with one for each program.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/trace_reader.h"

namespace heaptap::app {

class Baselines {
 public:
  // `path`: a trace, or a directory of traces.
  static base::Result<Baselines> open(const std::string& path);

  // The trace to compare with. Of one baseline that one, whose program has to be the same; of several the one of the same command
  // line, or else the only one of the same program.
  [[nodiscard]] base::Result<std::string> of(const std::string& trace) const;

 private:
  struct Entry {
    std::string path;
    model::Capture capture;
  };
  [[nodiscard]] std::vector<const Entry*> matching(const model::Capture& capture) const;

  std::string path_;
  std::vector<Entry> entries_;
};

}  // namespace heaptap::app
