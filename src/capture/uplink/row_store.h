// Store of unwind rows supplied by the host, on the target's side, for objects without rows where they are loaded:
// requested on a miss, and kept for the lifetime of the recording process. Another process that outlives it may provide
// initial rows and get new ones (begin_with()).
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "capture/uplink/kept_rows.h"
#include "common/line/reliable_line.h"
#include "common/message/message.h"
#include "common/model/row_table.h"

namespace heaptap::uplink {

// Callback for new rows.
using RowKeeper = std::function<void(const std::string& build_id, const model::RowTable& rows)>;

class RowStore {
 public:
  // Sets the initial rows, and the callback for new ones.
  void begin_with(KeptRows known, RowKeeper keeper);

  // Null: unknown.
  [[nodiscard]] const model::RowTable* find(const std::string& build_id) const { return kept_.find(build_id); }
  // All known rows, most recently used first.
  [[nodiscard]] const KeptRows& kept() const { return kept_; }

  // Asks the host, unless the rows are known or were requested in this session. `address`: a link-time address without
  // a row, if known, or model::kNoRowAnywhere.
  void want(line::ReliableLine& line, const std::string& build_id, std::string_view path,
            std::optional<uint64_t> address);
  // Whether the object occurred in this session.
  [[nodiscard]] bool is_wanted(const std::string& build_id) const { return asked_.contains(build_id); }
  // Processes an answer (kRows). Ignores what wasn't requested.
  void take(const message::Fields& fields);
  // Whether the answer has arrived: rows, or none available.
  [[nodiscard]] bool is_answered(const std::string& build_id) const;
  // Allows new requests: another host may know more.
  void begin_session();

 private:
  struct Asked {
    unsigned answers_due = 0;
    bool had_address = false;
    std::string bytes;  // received so far
  };

  KeptRows kept_;
  RowKeeper keeper_;
  std::map<std::string, Asked> asked_;  // in this session, including those known already
};

}  // namespace heaptap::uplink
