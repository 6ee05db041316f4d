// The formats of other tools that a report can be written in. A format is a file of this room and a line of its table
// (formats.cc).
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "exports/metric.h"
#include "model/event_source.h"
#include "report/render.h"
#include "report/report.h"

namespace heaptap::exports {

// What a format needs of the report beside all of its stacks.
struct Needs {
  bool blocks = false;    // single live blocks
  bool timeline = false;  // and sizes and lifetimes
  bool errors = false;    // bad releases
  bool metric = false;    // shows one number a stack
  bool trace = false;     // the events or the modules of one trace: it can't be made of several processes
};

// What a format of profilers is made of.
struct Input {
  const report::Report& report;
  model::EventSource& source;           // that the report was made of
  std::span<const uint32_t> stack_ids;  // by site: of the report's stack; 0: it doesn't allocate
  const Metric& metric;                 // where one is shown
  model::ThreadId thread = 0;           // whose blocks the report counts; 0: all
};

// A directory's numbered files of one name, of a format that is made in several.
class NumberedOutput {
 public:
  NumberedOutput() = default;
  NumberedOutput(const NumberedOutput&) = delete;
  NumberedOutput& operator=(const NumberedOutput&) = delete;
  virtual ~NumberedOutput() = default;

  // The texts of those that are there, one after the other.
  virtual base::Result<> read_earlier(const std::function<void(std::string_view text)>& take) const = 0;
  // Makes the next one, of what `fill` writes.
  virtual base::Result<> write_next(const std::function<void(const report::Write& write)>& fill) = 0;
};

struct Format {
  std::string_view name;
  std::string_view reader;     // what opens it, for people
  std::string_view extension;  // of its files, with the dot
  Needs needs;
  // One of them: all of the file; fails where the report hasn't what the format is about. The first one knows nothing but the
  // report.
  base::Result<> (*write)(const report::Report& report, const report::Write& write) = nullptr;
  base::Result<> (*write_profile)(const Input& input, const report::Write& write) = nullptr;
  // Of a format that needs a file: all of it into an empty one.
  base::Result<> (*write_path)(const report::Report& report, const std::string& path) = nullptr;
  // Of a format in numbered files: one of each moment, which ascend, or the next one of the whole report where there are none;
  // and the names of all without their numbers.
  base::Result<> (*write_series)(const Input& input, std::span<const uint64_t> moments_ns,
                                 NumberedOutput& output) = nullptr;
  std::string (*numbered_name)(const report::Report& report) = nullptr;
};

std::span<const Format> formats();
// Null: there is none of that name.
const Format* find_format(std::string_view name);

base::Result<> write(const Format& format, const Input& input, const report::Write& write);

}  // namespace heaptap::exports
