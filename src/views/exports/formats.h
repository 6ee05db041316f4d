// Export formats of other tools. A format is a source file of this directory and an entry of the table in formats.cc.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "analysis/report/report.h"
#include "analysis/report/view.h"
#include "common/base/result.h"
#include "common/model/event_source.h"
#include "views/exports/metric.h"

namespace heaptap::exports {

// Report data that a format needs besides the stacks.
struct Needs {
  bool blocks = false;    // single live blocks
  bool timeline = false;  // and sizes and lifetimes
  bool errors = false;    // invalid, mismatched and double releases
  bool metric = false;    // shows one number per stack
  bool memory = false;    // adds up stacks alone, so that mappings may count as blocks
  bool trace = false;     // the events or modules of a single trace: not available for several processes
};

// Input of a profile format.
struct Input {
  const report::Report& report;
  model::EventSource* trace;            // of the report; null: of several processes
  std::span<const uint32_t> stack_ids;  // by site: id of the report's stack; 0: no allocation
  const Metric& metric;                 // the one shown, if any
  model::ThreadId thread = 0;           // filter of the report's blocks; 0: all
};

// Numbered files with a common name in a directory, for a format written as a series.
class NumberedOutput {
 public:
  NumberedOutput() = default;
  NumberedOutput(const NumberedOutput&) = delete;
  NumberedOutput& operator=(const NumberedOutput&) = delete;
  virtual ~NumberedOutput() = default;

  // Passes on the contents of the existing files, in order.
  virtual base::Result<> read_earlier(const std::function<void(std::string_view text)>& take) const = 0;
  // Creates the next file, with the output of `fill`.
  virtual base::Result<> write_next(const std::function<void(const report::Write& write)>& fill) = 0;
};

struct Format {
  std::string_view name;
  std::string_view reader;     // tool that opens it, for messages
  std::string_view extension;  // file name extension, with the dot
  Needs needs;
  // One of write, write_profile and write_path is set. It writes the whole file; fails if the report lacks the format's data.
  // `write` gets the report only.
  base::Result<> (*write)(const report::Report& report, const report::Write& write) = nullptr;
  base::Result<> (*write_profile)(const Input& input, const report::Write& write) = nullptr;
  // Format that needs a file: writes all of it into an empty one.
  base::Result<> (*write_path)(const Input& input, const std::string& path) = nullptr;
  // Format in numbered files: one per moment (ascending), or without moments the next one, of the whole report; and the common part
  // of the files' names.
  base::Result<> (*write_series)(const Input& input, std::span<const uint64_t> moments_ns,
                                 NumberedOutput& output) = nullptr;
  std::string (*numbered_name)(const report::Report& report) = nullptr;
};

std::span<const Format> formats();
// Null if unknown.
const Format* find_format(std::string_view name);

base::Result<> write(const Format& format, const Input& input, const report::Write& write);

}  // namespace heaptap::exports
