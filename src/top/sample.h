// What is known of a process at one moment. Made once, then only looked at: one thread makes it, another shows it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "live/recording.h"
#include "report/report.h"

namespace heaptap::top {

// The names of a stack, as they are shown. They never change.
struct NamedStack {
  uint64_t id = 0;
  std::string function;            // that was called
  std::vector<std::string> sites;  // where, with some callers, in one line: the longest text first
  std::string module;              // of the place that names it: its path; empty: not known
  std::string searched;            // all functions and modules, for filters
};

struct Sample {
  live::Process process;
  size_t place = 0;  // of it, among
  size_t process_count = 1;
  uint32_t image_count = 1;  // of the programs that the process executed, this one among them
  live::Figures figures;
  live::Freshness freshness;
  bool is_live = false;
  uint64_t counted_until_ns =
      0;  // since the start of the capture: all events up to then are in the counts, and few later ones
  // How long ago the last event was that is counted, where something is written that isn't counted yet.
  [[nodiscard]] uint64_t behind_ns() const {
    return freshness.is_behind() ? figures.time_ns - std::min(figures.time_ns, counted_until_ns) : 0;
  }
  uint64_t start_unix_ns = 0;  // 0: not known
  report::Totals totals;
  bool lifetimes_known = true;
  bool threads_known = false;
  std::vector<report::StackCount> counts;  // by id - 1
  std::vector<report::ThreadEntry> threads;
  std::vector<report::TimelinePoint> timeline;  // of a recording of the past
  std::vector<model::Mark> marks;
  std::vector<NamedStack> named;  // that were asked for
};
using SharedSample = std::shared_ptr<const Sample>;

// What a leak scan says.
struct LeakSample {
  uint32_t scan = 0;  // its number
  report::Leaks leaks;
  bool all_known = true;  // false: more may be lost
  struct OfStack {
    uint64_t id = 0;
    uint64_t bytes = 0;  // definitely and indirectly lost
    uint64_t blocks = 0;
  };
  std::vector<OfStack> stacks;  // with lost blocks, by id
};

// All that there is to say of one stack: lines of text.
struct StackPage {
  uint64_t id = 0;
  std::string function;
  std::vector<std::string> threads;
  std::vector<std::string> frames;
  std::vector<std::string> holders;  // who holds its largest block; empty: not known
  std::string why_no_holders;
};

}  // namespace heaptap::top
