// Report at the end of a recording.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "analysis/query/analyze.h"
#include "apps/heaptap/commands/gate.h"
#include "apps/heaptap/commands/run_command.h"
#include "capture/supervision/recorded_processes.h"
#include "common/base/unique_fd.h"

namespace heaptap::app {

// JSON report file, created before the program starts, so that it can be written at the end.
class ReportFile {
 public:
  // An empty path: none is wanted.
  static base::Result<ReportFile> create(const std::string& path);

  [[nodiscard]] bool is_wanted() const { return !path_.empty(); }
  base::Result<> write(const std::string& text);

 private:
  ReportFile(std::string path, base::UniqueFd descriptor)
      : path_(std::move(path)), descriptor_(std::move(descriptor)) {}
  std::string path_;
  base::UniqueFd descriptor_;  // none: none is wanted, or it is a FIFO without a reader so far
};

// End of the program that heaptap has started, also where no recording saw it.
struct ProgramEnd {
  uint32_t pid = 0;  // 0: it has started none here
  model::ExitStatus exit;
};

struct EndReport {
  const RunOptions& options;
  const query::Suppressions& suppressions;
  ProgramEnd program;
  std::string lead;  // printed first if anything is; may be empty
  ReportFile& file;
};

// `traces`: the main program's first.
Gate report_end(const EndReport& end, const std::vector<supervision::FinishedTrace>& traces);

}  // namespace heaptap::app
