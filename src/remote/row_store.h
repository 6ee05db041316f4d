// Rows for unwinding that the host tells the target's side, of objects that have none where they are loaded: asked for on a miss, and
// kept as long as the process that records. Others that outlive it may know them before, and be told of them (begin_with()).
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "control/message.h"
#include "model/row_table.h"
#include "remote/kept_rows.h"
#include "remote/reliable_line.h"

namespace heaptap::remote {

// Who is told what comes to be kept.
using RowKeeper = std::function<void(const std::string& build_id, const model::RowTable& rows)>;

class RowStore {
 public:
  // What was known before, and who keeps what comes.
  void begin_with(KeptRows known, RowKeeper keeper);

  // Null: they aren't known.
  [[nodiscard]] const model::RowTable* find(const std::string& build_id) const { return kept_.find(build_id); }
  // All that are known, the latest first.
  [[nodiscard]] const KeptRows& kept() const { return kept_; }

  // Asks the host, unless they are known or that was done in this session. `address`: a link-time address without a row, if one was
  // met, or model::kNoRowAnywhere.
  void want(ReliableLine& line, const std::string& build_id, std::string_view path, std::optional<uint64_t> address);
  // Of an object that this session has met.
  [[nodiscard]] bool is_wanted(const std::string& build_id) const { return asked_.contains(build_id); }
  // What it says (kRows). Nothing that wasn't asked for is kept.
  void take(const control::Fields& fields);
  // Its answer is there: rows, or that it has none.
  [[nodiscard]] bool is_answered(const std::string& build_id) const;
  // Another host may know more.
  void begin_session();

 private:
  struct Asked {
    unsigned answers_due = 0;
    bool had_address = false;
    std::string bytes;  // that came so far
  };

  KeptRows kept_;
  RowKeeper keeper_;
  std::map<std::string, Asked> asked_;  // in this session, or not: known already
};

}  // namespace heaptap::remote
