// Baselines of `heaptap check`: one recording for all traces, or a directory with one per program.
#pragma once
#include <string>
#include <vector>

#include "common/base/result.h"
#include "record/trace/trace_reader.h"

namespace heaptap::app {

class Baselines {
 public:
  // `path`: a trace, or a directory of traces.
  static base::Result<Baselines> open(const std::string& path);

  // The trace's baseline. If there is only one, its program must be the same; of several, the one with the same command line, or else
  // the only one of the same program.
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
