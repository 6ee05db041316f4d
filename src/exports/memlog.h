// memlog: text reports of what is not freed, one after the other in numbered files, each with the changes since the one before.
//
//     17222 (+1222)                 outstanding bytes, and the change
//     +1200                         then a stack each, the largest change first: the change,
//     <tab>make(int) (/opt/app)     and its frames, innermost first, with their objects
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "exports/formats.h"
#include "report/render.h"
#include "report/report.h"

namespace heaptap::exports {

// "app-4711-": behind it stand a file's number and ".memlog".
std::string memlog_name(const report::Report& report);

// The first file is what changed since those that are there, whose changes sum up to what was outstanding then. Memory: the
// stacks, and of moments the live blocks.
base::Result<> write_memlog_series(const Input& input, std::span<const uint64_t> moments_ns, NumberedOutput& output);
// The report as the first file.
base::Result<> write_memlog(const report::Report& report, const report::Write& write);

// Files of a recording that goes on, each with the changes since the one before. Of what was written it keeps a number for each
// stack, by the stack's id; only stacks that changed have to be named.
class MemlogChanges {
 public:
  // Which these are. `counts`: the numbers of all stacks (analysis::Query::counts), as for all that follows.
  [[nodiscard]] std::vector<uint64_t> changed(const report::Report& counts) const;
  // The next file. `named`: has these stacks.
  void write(const report::Report& counts, const report::Report& named, const report::Write& write) const;
  // That file is where it should be.
  void take_as_written(const report::Report& counts);

 private:
  [[nodiscard]] int64_t change_of(const report::Report& counts, uint64_t id) const;

  std::vector<uint64_t> written_;  // by id - 1
};
// Fails where nothing is known of what is outstanding.
base::Result<> check_memlog(const report::Report& report);

}  // namespace heaptap::exports
