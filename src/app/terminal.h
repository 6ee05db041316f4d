// Whether output goes to a terminal, and with which colours.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"

namespace heaptap::app {

enum class ColorMode { kAuto, kAlways, kNever };

// kAuto: a terminal that isn't dumb, and no NO_COLOR in the environment.
bool use_color(ColorMode mode, int file_descriptor);

// Writes to stderr; that it can't be written to is no error.
void print_error(const std::string& text);

// Writes to stdout, which has to work: a report is of no use where it is cut off.
base::Result<> print_output(const std::string& text);

// Gives descriptors 0 to 2 that are closed a meaning, so that no file of heaptap's gets their number and with it what is
// meant for the terminal. A program that is started finds them closed as they were.
void occupy_standard_descriptors();

// A line on stderr that says how far a long job is. It shows up only on a terminal, and only when the job takes longer than
// half a second; the destructor wipes it.
class ProgressLine {
 public:
  ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();

  void update(uint64_t done, uint64_t total);

 private:
  bool terminal_;
  int64_t next_at_ms_;
  bool shown_ = false;
};

}  // namespace heaptap::app
