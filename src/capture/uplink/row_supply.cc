#include "capture/uplink/row_supply.h"

#include <algorithm>
#include <utility>

namespace heaptap::uplink {

RowSupply::RowSupply(AskedHost& host, const log::LogParts& log) : host_(host), writer_(log) {
  put_in_what_is_known(host_.rows());
}

// Preloads known tables, within limits: they take the target's memory, and room for later tables. Of the objects that
// this session hasn't met, only the most recently used ones are added; others come at their first miss.
void RowSupply::put_in_what_is_known(const RowStore& known) {
  constexpr uint64_t kMaxUnmetBytes = uint64_t{512} << 10;
  const uint64_t half_bytes = writer_.room_bytes() / 2;
  uint64_t left_bytes = 0;  // the most recently used one may be of the program that starts now
  known.kept().for_each([&](const std::string& build_id, const model::RowTable& rows) {
    if (!known.is_wanted(build_id)) return;
    (void)writer_.add(build_id, rows, left_bytes);
    left_bytes = half_bytes;
  });
  const uint64_t room_bytes = writer_.room_bytes();
  left_bytes = std::max(half_bytes, room_bytes - std::min(room_bytes, kMaxUnmetBytes));
  known.kept().for_each([&](const std::string& build_id, const model::RowTable& rows) {
    if (!known.is_wanted(build_id)) (void)writer_.add(build_id, rows, left_bytes);
  });
}

void RowSupply::add_modules(std::span<const model::Module> modules) {
  modules_.insert(modules_.end(), modules.begin(), modules.end());
}

// Requests rows of the module of an address without a row. Module not known yet: tried again later.
void RowSupply::want_rows_of(uint64_t entry) {
  const uint64_t address = wire::code_address(entry);
  const auto holds = [&](const model::Module& module) {
    return module.start < address && address <= module.end && module.generation == wire::code_generation(entry);
  };
  const auto module = std::ranges::find_if(modules_, holds);
  if (module == modules_.end()) {
    misses_.push_back(entry);
    return;
  }
  const bool has_tables = (module->flags & wire::kModuleHasNoCfi) == 0;
  host_.want_rows(module->build_id, module->path, has_tables ? address - 1 - module->bias : model::kNoRowAnywhere);
  wanted_.push_back(module->build_id);
}

void RowSupply::serve() {
  const RowStore& known = host_.rows();
  std::vector<uint64_t> misses = std::exchange(misses_, {});
  for (const uint64_t entry : writer_.take_misses()) misses.push_back(entry);
  for (const uint64_t entry : misses) want_rows_of(entry);
  std::erase_if(wanted_, [this, &known](const std::string& build_id) {
    if (!known.is_answered(build_id)) return false;
    const model::RowTable* const rows = known.find(build_id);
    if (rows != nullptr && !writer_.add(build_id, *rows)) left_out_.insert(build_id);
    return true;
  });
}

}  // namespace heaptap::uplink
