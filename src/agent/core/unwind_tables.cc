#include "agent/core/unwind_tables.h"

#include "common/unwind/late_row.h"
#include "common/unwind/loaded_tables.h"
#include "common/unwind/step.h"

namespace heaptap::agent {

void UnwindTables::refresh_modules() {
  const auto forget = [this](uint64_t start, uint64_t end) {
    rules.forget(start, end);
    changes.count_up();
  };
  if (modules.refresh(forget) && modules.lost_interpreter()) (void)modules.refresh(forget);
}

void UnwindTables::start_late_rows(wire::LogHeader* log, const wire::LogLayout& layout) {
  log_ = log;
  late_rows_ = wire::LateRowsReader(*log, layout);
  seen_rows_.store(late_rows_.reach(), std::memory_order_relaxed);
}

// Another thread may do it at the same time: then both forget.
[[gnu::noinline, gnu::cold]] void UnwindTables::take_rows() {
  seen_rows_.store(late_rows_.reach(), std::memory_order_relaxed);
  modules.for_each_without_rows([this](uint64_t start, uint64_t end) { rules.forget(start, end); });
  changes.count_up();
}

unwind::Row UnwindTables::late_row_of(const Module& module, uint64_t pc, uint64_t key) {
  if (module.rows_key == 0) return unwind::Row(unwind::RowKind::kNoTable);
  const unwind::Row row = unwind::late_row<Cpu>(late_rows_.find(module.rows_key).row_at(pc - module.bias));
  if (row.kind() == unwind::RowKind::kNoTable && !module.lacks_rows.exchange(true, std::memory_order_relaxed)) {
    wire::note_row_miss(*log_, wire::with_generation(wire::code_address(key), module.generation));
  }
  return row;
}

[[gnu::noinline, gnu::cold]] Rule UnwindTables::learn(uint64_t key) {
  const uint64_t pc = unwind::instruction_of(key);
  const Module* module = modules.find(pc);
  if (module == nullptr && modules.note_at(pc)) module = modules.find(pc);
  if (module == nullptr) return rules.add(key, 0, unwind::Row(unwind::RowKind::kNoTable));
  const bool is_entry =
      unwind::is_entry_code(module->entry, unwind::find_loaded_function<Cpu>(module->tables(), pc), pc);
  const unwind::Row row =
      is_entry ? unwind::Row(unwind::RowKind::kEnd) : unwind::find_loaded_row<Cpu>(module->tables(), key);
  if (row.kind() != unwind::RowKind::kNoTable || !late_rows_.are_possible())
    return rules.add(key, module->generation, row);
  while (true) {
    const uint32_t reach = late_rows_.reach();
    const Rule rule = rules.add(key, module->generation, late_row_of(*module, pc, key));
    // Another thread may have cleared the rules replaced by late rows, before this one was added.
    if (late_rows_.reach() == reach) return rule;
  }
}

}  // namespace heaptap::agent
