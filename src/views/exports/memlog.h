// memlog: series of numbered text reports of memory that isn't freed, each with the changes since the previous one.
//
//     17222 (+1222)                 outstanding bytes, and the change
//     +1200                         then one stack each, the largest change first: the change,
//     <tab>make(int) (/opt/app)     and its frames, innermost first, with their objects
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/report.h"
#include "analysis/report/view.h"
#include "common/base/result.h"
#include "views/exports/formats.h"

namespace heaptap::exports {

// "app-4711-": common part of the file names; a number and ".memlog" follow.
std::string memlog_name(const report::Report& report);

// The first new file has the changes since the existing ones, whose changes sum up to the memory outstanding then. Memory use:
// proportional to the stacks, and with moments to the live blocks.
base::Result<> write_memlog_series(const Input& input, std::span<const uint64_t> moments_ns, NumberedOutput& output);
// The report as the first file of a series.
base::Result<> write_memlog(const report::Report& report, const report::Write& write);

// Series of a live recording, each file with the changes since the previous one. It keeps one number per stack, by stack id; only
// changed stacks need names.
class MemlogChanges {
 public:
  // Ids of the stacks to name. `counts`: the numbers of all stacks (query::Listing::counts), here and below.
  [[nodiscard]] std::vector<uint64_t> changed(const report::Report& counts) const;
  // Writes the next file. `named`: a report with these stacks.
  void write(const report::Report& counts, const report::Report& named, const report::Write& write) const;
  // To be called once that file is in place.
  void take_as_written(const report::Report& counts);

 private:
  [[nodiscard]] int64_t change_of(const report::Report& counts, uint64_t id) const;

  std::vector<uint64_t> written_;  // by id - 1
};
// Fails if outstanding memory is unknown.
base::Result<> check_memlog(const report::Report& report);

}  // namespace heaptap::exports
