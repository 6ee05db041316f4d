// State of a process at one moment. Immutable once made: one thread makes it, another one shows it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/report.h"
#include "views/client/recording.h"

namespace heaptap::top {

// Displayed names of a stack. They never change.
struct NamedStack {
  uint64_t id = 0;
  std::string function;            // the allocation function
  std::vector<std::string> sites;  // site with some callers, on one line: longest text first
  std::string module;              // of the telling frame: path; empty: unknown
  std::string searched;            // all functions and modules, for filters
  bool of_libraries = false;       // memory of system libraries
};

inline std::optional<double> to_double(const base::Known<uint64_t>& number) {
  return number.is_known() ? std::optional(static_cast<double>(number.counted())) : std::nullopt;
}

struct Sample {
  client::Process process;
  size_t place = 0;  // index of the process among
  size_t process_count = 1;
  uint32_t image_count = 1;  // programs executed by the process, this one included
  client::Figures figures;
  client::Freshness freshness;
  bool is_live = false;
  uint64_t counted_until_ns =
      0;  // since the start of the capture: all events up to then are in the counts, and few later ones
  // Age of the last counted event, if the trace has events not counted yet.
  [[nodiscard]] uint64_t behind_ns() const {
    return freshness.is_behind() ? figures.time_ns - std::min(figures.time_ns, counted_until_ns) : 0;
  }
  uint64_t start_unix_ns = 0;  // 0: unknown
  report::Totals totals;
  std::vector<report::StackCount> counts;  // by id - 1
  std::optional<std::vector<report::ThreadEntry>> threads;
  std::vector<report::TimelinePoint> timeline;  // of a finished recording
  std::vector<model::Mark> marks;
  std::vector<NamedStack> named;  // the requested ones
};
using SharedSample = std::shared_ptr<const Sample>;

// Results of a leak scan.
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

// Details of one stack, as lines of text.
struct StackPage {
  uint64_t id = 0;
  std::string function;
  std::vector<std::string> threads;
  std::vector<std::string> frames;
  std::vector<std::string> holders;  // path to its largest block; empty: unknown
  std::string why_no_holders;
};

}  // namespace heaptap::top
