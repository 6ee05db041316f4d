// Collector side of on-demand unwind tables (common/wire/late_rows.h): writes rows into a log, and reads which code lacks them.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "capture/log/log_parts.h"
#include "common/model/row_table.h"

namespace heaptap::log {

class LateRowsWriter {
 public:
  explicit LateRowsWriter(const LogParts& log) : log_(log) {}

  // Adds the rows of the object with this build-id, once. False: there is no room for them beside `left_bytes`. An
  // empty table needs none.
  bool add(std::string_view build_id, const model::RowTable& rows, uint64_t left_bytes = 0);
  // Whether the log has rows of this object.
  [[nodiscard]] bool has(std::string_view build_id) const;
  [[nodiscard]] uint64_t room_bytes() const { return log_.late_rows.size() - used_bytes_; }
  // Code entries (wire::CodeEntry) that a walk had no row for, since the last call. Untrusted.
  std::vector<uint64_t> take_misses();

 private:
  const LogParts& log_;
  std::vector<uint64_t> added_;  // object keys
  uint64_t used_bytes_ = 0;
  uint32_t taken_misses_ = 0;
};

}  // namespace heaptap::log
