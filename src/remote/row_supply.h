// Rows for unwinding of one recorded process: those that are known go into its log, those that its walks lack are asked for.
#pragma once
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "log/late_rows.h"
#include "model/tables.h"
#include "remote/outlet.h"

namespace heaptap::remote {

class RowSupply {
 public:
  // Puts in what is known at once. The outlet and the log outlive it.
  RowSupply(Outlet& outlet, const log::LogParts& log);

  // That the log told, behind those before.
  void add_modules(std::span<const model::Module> modules);
  // Asks for what walks lacked since the last call, and puts in what is known by now.
  void serve();
  // Objects whose rows are known and found no room in the log.
  [[nodiscard]] uint64_t left_out() const { return left_out_.size(); }

 private:
  void put_in_what_is_known(const RowStore& known);
  void want_rows_of(uint64_t entry);

  Outlet& outlet_;
  log::LateRowsWriter writer_;
  std::vector<model::Module> modules_;
  std::vector<uint64_t> misses_;     // whose module isn't known yet
  std::vector<std::string> wanted_;  // build-ids of objects that the log has no rows of
  std::set<std::string> left_out_;   // likewise
};

}  // namespace heaptap::remote
