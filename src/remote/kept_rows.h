// Tables of rows for unwinding by build-id, as many as there is room for: the ones that were used last.
#pragma once
#include <functional>
#include <list>
#include <string>
#include <utility>

#include "model/row_table.h"

namespace heaptap::remote {

class KeptRows {
 public:
  // Null: they aren't known.
  [[nodiscard]] const model::RowTable* find(const std::string& build_id) const;
  // The same, and they are the latest from here on.
  const model::RowTable* use(const std::string& build_id);
  // In place of what is known of this object.
  void keep(const std::string& build_id, model::RowTable rows);
  // All of them, the latest first.
  void for_each(const std::function<void(const std::string& build_id, const model::RowTable& rows)>& visit) const;

 private:
  using Tables = std::list<std::pair<std::string, model::RowTable>>;

  Tables tables_;  // the latest first
  size_t rows_ = 0;
};

}  // namespace heaptap::remote
