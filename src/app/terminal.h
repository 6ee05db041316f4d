// Whether output goes to a terminal, and with which colours.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "analysis/analyze.h"
#include "app/color_mode.h"
#include "base/result.h"

namespace heaptap::app {

// kAuto: a terminal that isn't dumb, and no NO_COLOR in the environment.
bool use_color(ColorMode mode, int file_descriptor);

// How many characters a line has: of a terminal what it says, or else what $COLUMNS says, or else 80.
size_t terminal_width(int file_descriptor);

// The width that lines for people are folded at: of a terminal, or what $COLUMNS says; 0 elsewhere, where what reads them wants them
// whole.
size_t fold_width(int file_descriptor);

// Writes to stderr; that it can't be written to is no error.
void print_error(const std::string& text);
// Prints why a command failed; gives its exit status.
int complain(const base::Error& error);
// From now on to the end of this file, which is made when there is something to say; where it can't be, to the system's log.
void print_errors_to(std::string file);

// Writes to stdout, which has to work: a report is of no use where it is cut off.
base::Result<> print_output(const std::string& text);
// The same in pieces; what is written before `flush_output` may still be kept back.
base::Result<> write_output(std::string_view piece);
base::Result<> flush_output();

// Gives descriptors 0 to 2 that are closed a meaning, so that no file of heaptap's gets their number and with it what is
// meant for the terminal. A program that is started finds them closed as they were.
void occupy_standard_descriptors();

// A line on stderr that says how far a long job is. It shows up only on a terminal, and only when the job takes longer than
// half a second; the destructor wipes it. A thread of its own paints it, so that it shows what was told last.
class ProgressLine {
 public:
  ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();

  // So far the trace was read.
  void update(uint64_t done, uint64_t total);
  // What is done about names.
  void tell(const symbols::SymbolWork& work);
  // A file comes from another machine; of how many bytes, where that is known, else 0.
  void fetching(const std::string& path, uint64_t done, uint64_t total);
  // Both of the first, for a query; the line has to outlive it.
  void follow(analysis::Query& query);

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
  std::jthread painter_;  // none where there is no terminal
};

}  // namespace heaptap::app
