// What is printed when a recording is over.
#pragma once
#include <string>
#include <vector>

#include "analysis/analyze.h"
#include "app/run_command.h"
#include "collect/recorded_processes.h"

namespace heaptap::app {

// A file for the report as JSON that was made before the program started, so that it can be written at the end.
class ReportFile {
 public:
  // An empty path: there is none.
  static base::Result<ReportFile> create(const std::string& path);
  ReportFile(ReportFile&& other) noexcept;
  ReportFile& operator=(ReportFile&&) = delete;
  ~ReportFile();

  [[nodiscard]] bool is_wanted() const { return !path_.empty(); }
  base::Result<> write(const std::string& text);

 private:
  ReportFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  std::string path_;
  int descriptor_;  // -1: there is none, or a FIFO that nobody reads so far
};

struct EndReport {
  const RunOptions& options;
  const analysis::Suppressions& suppressions;
  std::string lead;  // said first, where anything is said; may be empty
  ReportFile& file;
};

// `traces`: first that of the program that did the work. True: one of them has what --error-exitcode is for.
bool report_end(const EndReport& end, const std::vector<collect::FinishedTrace>& traces);

}  // namespace heaptap::app
