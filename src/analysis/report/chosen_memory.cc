#include "analysis/report/chosen_memory.h"

#include "analysis/report/process_sums.h"

namespace heaptap::report {

std::optional<Memory> memory_named(std::string_view name) {
  if (name == "malloc") return Memory::kMalloc;
  if (name == "mmap") return Memory::kMmap;
  if (name == "both") return Memory::kBoth;
  return std::nullopt;
}

Memory first_memory(const Report& report) {
  return mapped_leads(report.totals, peak_of(report).counted()) ? Memory::kBoth : Memory::kMalloc;
}

void choose_memory(Report& report, Memory memory) {
  if (memory == Memory::kMalloc) return;
  if (memory == Memory::kMmap) std::erase_if(report.stacks, [](const StackEntry& stack) { return !stack.mapping; });
  for (StackEntry& stack : report.stacks) {
    if (!stack.mapping) continue;
    stack.live_bytes = stack.own_live_bytes();
    stack.peak_bytes = stack.own_peak_bytes();
    stack.allocated_bytes = stack.own_allocated_bytes();
    if (!stack.leaks && report.leaks.scanned) stack.leaks.set_scanned();
    if (stack.rare.is_set()) stack.rare.edit().mapped = {};
    stack.mapping = false;
  }
}

}  // namespace heaptap::report
