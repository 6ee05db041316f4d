// Terminal properties of output: colours, width, progress line.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "analysis/query/analyze.h"
#include "apps/heaptap/options/color_mode.h"
#include "common/base/result.h"

namespace heaptap::app {

// kAuto: colours on a terminal that isn't dumb, unless NO_COLOR is set.
bool use_color(ColorMode mode, int file_descriptor);

// Columns of the terminal, else $COLUMNS, else 80.
size_t terminal_width(int file_descriptor);

// Width for folding text: of the terminal, or $COLUMNS; 0 otherwise, since readers other than terminals want whole lines.
size_t fold_width(int file_descriptor);

// Writes to stderr; failures are ignored.
void print_error(const std::string& text);
// Prints a command's error; returns its exit status.
int complain(const base::Error& error);
// Redirects error messages to this file from now on; it is created with the first one. If it can't be: to the system log.
void print_errors_to(std::string file);

// Writes to stdout. Failures are errors: a truncated report is useless.
base::Result<> print_output(const std::string& text);
// Same in pieces; they may be buffered until `flush_output`.
base::Result<> write_output(std::string_view piece);
base::Result<> flush_output();

// Opens descriptors 0 to 2 if closed, so that none of heaptap's files gets their numbers and receives terminal output. A started
// program gets them closed, as they were.
void occupy_standard_descriptors();

// Progress line on stderr for long operations. It appears only on a terminal, and only after half a second; the destructor erases it.
// A background thread draws the latest state.
class ProgressLine {
 public:
  ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();

  // Progress of reading the trace.
  void update(uint64_t done, uint64_t total);
  // Progress of symbol work.
  void tell(const symbols::SymbolWork& work);
  // Progress of a file from another machine; `total`: 0 if unknown.
  void fetching(const std::string& path, uint64_t done, uint64_t total);
  // Connects the first two to a query; this must outlive it.
  void follow(query::Query& query);

 private:
  enum class Phase { kNone, kReading, kOpening, kDownloading, kFetching };
  void show_now_and_then(const std::stop_token& stop);
  [[nodiscard]] std::string text() const;

  std::mutex mutex_;  // of all below
  std::condition_variable_any changed_;
  Phase phase_ = Phase::kNone;
  std::string module_;
  uint64_t done_ = 0;
  uint64_t total_ = 0;
  bool shown_ = false;
  std::jthread painter_;  // none without a terminal
};

}  // namespace heaptap::app
