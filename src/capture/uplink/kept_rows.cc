#include "capture/uplink/kept_rows.h"

#include <algorithm>

namespace heaptap::uplink {
namespace {

constexpr size_t kMaxKeptRows = size_t{2} << 20;  // 24 MiB
constexpr size_t kMaxTables = 4096;

constexpr auto kBuildId = [](const auto& table) -> const std::string& { return table.first; };

}  // namespace

const model::RowTable* KeptRows::find(const std::string& build_id) const {
  const auto known = std::ranges::find(tables_, build_id, kBuildId);
  return known == tables_.end() ? nullptr : &known->second;
}

const model::RowTable* KeptRows::use(const std::string& build_id) {
  const auto known = std::ranges::find(tables_, build_id, kBuildId);
  if (known == tables_.end()) return nullptr;
  tables_.splice(tables_.begin(), tables_, known);
  return &known->second;
}

void KeptRows::keep(const std::string& build_id, model::RowTable rows) {
  if (use(build_id) != nullptr) {
    rows_ -= tables_.front().second.rows.size();
    tables_.pop_front();
  }
  rows_ += rows.rows.size();
  tables_.emplace_front(build_id, std::move(rows));
  while ((rows_ > kMaxKeptRows && tables_.size() > 1) || tables_.size() > kMaxTables) {
    rows_ -= tables_.back().second.rows.size();
    tables_.pop_back();
  }
}

void KeptRows::for_each(
    const std::function<void(const std::string& build_id, const model::RowTable& rows)>& visit) const {
  for (const auto& [build_id, rows] : tables_) visit(build_id, rows);
}

}  // namespace heaptap::uplink
