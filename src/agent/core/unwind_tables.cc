#include "agent/core/unwind_tables.h"

#include "unwind/cfi.h"
#include "unwind/step.h"

namespace heaptap::agent {

void UnwindTables::refresh_modules() {
  modules.refresh([this](uint64_t start, uint64_t end) {
    rules.forget(start, end);
    changes.count_up();
  });
}

[[gnu::noinline, gnu::cold]] Rule UnwindTables::learn(uint64_t key) {
  const uint64_t pc = unwind::instruction_of(key);
  const Module* module = modules.find(pc);
  if (module == nullptr) return rules.add(key, 0, unwind::Row(unwind::RowKind::kNoTable));
  const unwind::Row row = unwind::is_entry_code(module->entry, pc) ? unwind::Row(unwind::RowKind::kEnd)
                                                                   : unwind::find_row<Cpu>(module->tables, pc);
  return rules.add(key, module->generation, row);
}

}  // namespace heaptap::agent
