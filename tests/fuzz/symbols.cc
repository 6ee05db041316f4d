// Modules whose ELF files hold anything: names of some addresses in them.
#include <cstdint>

#include "analysis/symbols/resolver.h"
#include "common/frames/table_frames.h"
#include "fuzz/support/expect.h"
#include "fuzz/support/memory_file.h"

using namespace heaptap;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  const fuzz::MemoryFile file({bytes, size_bytes});
  constexpr uint64_t kBias = 0x555500000000;
  constexpr uint64_t kSpan = 0x100000;
  model::Tables tables = frames::empty_tables();
  tables.modules.push_back({.path = file.path(),
                            .build_id = {},
                            .bias = kBias,
                            .start = kBias,
                            .end = kBias + kSpan,
                            .generation = 0,
                            .flags = 0});
  symbols::Resolver resolver({});
  for (uint64_t offset = 0; offset < 0x4100; offset += 0x61) {
    FUZZ_EXPECT(!resolver.resolve(tables, {kBias + offset, 0, false}).empty());
  }
  for (uint64_t offset = 0; offset < 0x6000; offset += 0x31) {
    const symbols::Variable* variable = resolver.variable_at(tables.modules[0], offset);
    FUZZ_EXPECT(variable == nullptr || (!variable->name.empty() && variable->begin <= offset));
    variable = resolver.thread_local_at(tables.modules[0], offset);
    FUZZ_EXPECT(variable == nullptr || (!variable->name.empty() && variable->begin <= offset));
    (void)resolver.type_at(tables.modules[0], offset);
  }
  FUZZ_EXPECT(resolver.hints(8).size() <= 8);
  return 0;
}
