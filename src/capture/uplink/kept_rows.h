// LRU cache of unwind row tables by build-id.
#pragma once
#include <functional>
#include <list>
#include <string>
#include <utility>

#include "common/model/row_table.h"

namespace heaptap::uplink {

class KeptRows {
 public:
  // Null: unknown.
  [[nodiscard]] const model::RowTable* find(const std::string& build_id) const;
  // As find(), and makes it the most recently used.
  const model::RowTable* use(const std::string& build_id);
  // Replaces the object's table.
  void keep(const std::string& build_id, model::RowTable rows);
  // All of them, most recently used first.
  void for_each(const std::function<void(const std::string& build_id, const model::RowTable& rows)>& visit) const;

 private:
  using Tables = std::list<std::pair<std::string, model::RowTable>>;

  Tables tables_;  // most recently used first
  size_t rows_ = 0;
};

}  // namespace heaptap::uplink
