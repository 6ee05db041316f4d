// Creation of an unwind row from libstdc++'s own .eh_frame: the cost of a return address seen for the first time.
#include <benchmark/benchmark.h>
#include <link.h>

#include <random>
#include <string_view>
#include <vector>

#include "common/arch/native.h"
#include "common/unwind/cfi.h"

namespace {

using namespace heaptap;

struct Code {
  unwind::CfiTables tables;
  uint64_t start = 0;
  uint64_t end = 0;
};

// Of the first module whose path has "libstdc++" in it: its tables and its code.
int find_code(dl_phdr_info* module, size_t, void* argument) {
  if (std::string_view(module->dlpi_name).find("libstdc++") == std::string_view::npos) return 0;
  Code& code = *static_cast<Code*>(argument);
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = module->dlpi_phdr[i];
    if (segment.p_type == PT_GNU_EH_FRAME) code.tables.header = module->dlpi_addr + segment.p_vaddr;
  }
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = module->dlpi_phdr[i];
    const uint64_t start = module->dlpi_addr + segment.p_vaddr;
    const uint64_t end = start + segment.p_memsz;
    if (segment.p_type != PT_LOAD) continue;
    if ((segment.p_flags & PF_X) != 0) {
      code.start = start;
      code.end = end;
    }
    if (code.tables.header >= start && code.tables.header < end) {
      code.tables.start = start;
      code.tables.end = end;
      code.tables.mapped = reinterpret_cast<const uint8_t*>(start);
    }
  }
  return 1;
}

std::vector<uint64_t> addresses_with_rows(const Code& code) {
  std::mt19937_64 random(1);
  std::vector<uint64_t> addresses;
  for (int tries = 0; tries < 100'000 && addresses.size() < 4096; ++tries) {
    const uint64_t pc = code.start + random() % (code.end - code.start);
    const unwind::RowKind kind = unwind::find_row<arch::native::Unwinding>(code.tables, pc).kind();
    if (kind != unwind::RowKind::kNoTable && kind != unwind::RowKind::kUnsupported) addresses.push_back(pc);
  }
  return addresses;
}

void unwind_find_row(benchmark::State& state) {
  Code code;
  dl_iterate_phdr(find_code, &code);
  if (code.end == code.start || code.tables.mapped == nullptr) {
    state.SkipWithError("libstdc++ isn't loaded as a library");
    return;
  }
  const std::vector<uint64_t> addresses = addresses_with_rows(code);
  size_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(unwind::find_row<arch::native::Unwinding>(code.tables, addresses[at]));
    at = at + 1 == addresses.size() ? 0 : at + 1;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(unwind_find_row);

}  // namespace
