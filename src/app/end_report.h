// What is printed when a recording is over.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/analyze.h"
#include "app/run_command.h"
#include "base/unique_fd.h"
#include "collect/recorded_processes.h"

namespace heaptap::app {

// A file for the report as JSON that was made before the program started, so that it can be written at the end.
class ReportFile {
 public:
  // An empty path: there is none.
  static base::Result<ReportFile> create(const std::string& path);

  [[nodiscard]] bool is_wanted() const { return !path_.empty(); }
  base::Result<> write(const std::string& text);

 private:
  ReportFile(std::string path, base::UniqueFd descriptor)
      : path_(std::move(path)), descriptor_(std::move(descriptor)) {}
  std::string path_;
  base::UniqueFd descriptor_;  // none: none is wanted, or it is a FIFO that nobody reads so far
};

struct EndReport {
  const RunOptions& options;
  const analysis::Suppressions& suppressions;
  std::string lead;  // said first, where anything is said; may be empty
  ReportFile& file;
};

// What --error-exitcode is for.
enum class Gate : uint8_t {
  kPassed,
  kFailed,   // one of the processes has leaks or, where they are asked for, errors
  kUnknown,  // none that is known of, but not all was seen
};

// `traces`: first that of the program that did the work.
Gate report_end(const EndReport& end, const std::vector<collect::FinishedTrace>& traces);

}  // namespace heaptap::app
