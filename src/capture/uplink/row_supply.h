// Unwind rows for one recorded process: writes known ones into its log, and requests those that its walks lack.
#pragma once
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "capture/log/late_rows.h"
#include "capture/uplink/asked_host.h"
#include "common/model/tables.h"

namespace heaptap::uplink {

class RowSupply {
 public:
  // Writes known rows at once. The host and the log must outlive it.
  RowSupply(AskedHost& host, const log::LogParts& log);

  // Adds further modules of the log.
  void add_modules(std::span<const model::Module> modules);
  // Requests rows missed by walks since the last call, and writes those known by now.
  void serve();
  // Number of objects whose known rows found no room in the log.
  [[nodiscard]] uint64_t left_out() const { return left_out_.size(); }

 private:
  void put_in_what_is_known(const RowStore& known);
  void want_rows_of(uint64_t entry);

  AskedHost& host_;
  log::LateRowsWriter writer_;
  std::vector<model::Module> modules_;
  std::vector<uint64_t> misses_;     // of unknown modules
  std::vector<std::string> wanted_;  // build-ids of objects without rows in the log
  std::set<std::string> left_out_;   // likewise
};

}  // namespace heaptap::uplink
