// Leak scans for tests and benchmarks: random ones, and one that resembles a program's heap.
#pragma once
#include <algorithm>
#include <random>

#include "common/model/heap_scan.h"
#include "common/model/tables.h"
#include "common/wire/log.h"

namespace heaptap::test {

// Sites, stacks and modules for a scan to refer to.
inline model::Tables scan_tables(uint32_t site_count) {
  model::Tables tables;
  tables.stacks.resize(wire::kRootCount, model::Stack{0, 0});
  for (uint32_t i = 0; i < site_count; ++i) {
    tables.codes.push_back({0x400000 + i * 16, 0, false});
    tables.stacks.push_back({0, i});
    tables.sites.push_back({model::EventKind::kAllocate, wire::Function::kMalloc, wire::kRootCount + i});
  }
  for (int i = 0; i < 3; ++i) tables.modules.push_back({.path = "/lib/libx.so", .build_id = {}});
  return tables;
}

// Objects of `site_count` types, each with a size and some pointer fields; lists, trees, arrays of pointers; with gaps between the live
// blocks, left by released ones. (noipa: with a constant `site_count` GCC 12 warns of an impossible index.)
[[gnu::noipa]] inline model::HeapScan heap_like_scan(uint32_t block_count, uint32_t site_count, uint32_t seed = 1) {
  std::mt19937 generator(seed);
  const auto random = [&generator] { return static_cast<uint32_t>(generator()); };
  model::HeapScan scan;
  std::vector<uint32_t> places(site_count);  // pointers in a block of this site
  std::vector<uint64_t> sizes(site_count);
  for (uint32_t i = 0; i < site_count; ++i) {
    places[i] = random() % 5;
    sizes[i] = 16 + places[i] * 8 + random() % 8 * 8;
  }
  uint64_t address = 0x555555600010;
  uint64_t number = 1;
  for (uint32_t i = 0; i < block_count; ++i) {
    // Few sites make most of the blocks, and what was allocated together lies together.
    const uint32_t site =
        i > 0 && random() % 3 != 0 ? scan.blocks[i - 1].site : std::min(random() % site_count, random() % site_count);
    const uint64_t size = site % 7 == 0 ? 8 + random() % 200 : sizes[site];
    number = random() % 8 == 0 ? 1 + random() % (uint64_t{block_count} * 10) : number + 1 + random() % 3;
    const uint64_t type = site % 3 == 0 && size >= 16 ? 0x7ffff7000000 + uint64_t{site} * 48 : 0;
    scan.blocks.push_back({.address = address, .size_bytes = size, .number = number, .site = site, .type = type});
    address +=
        (size + 23) / 16 * 16 + (random() % 4 == 0 ? random() % 64 * 16 : 0) + (random() % 5000 == 0 ? 1 << 20 : 0);
  }
  for (uint32_t i = 0; i < block_count; ++i) {
    scan.pointers_begin.push_back(static_cast<uint32_t>(scan.pointers.size()));
    const model::ScannedBlock& block = scan.blocks[i];
    const uint32_t words = static_cast<uint32_t>(block.size_bytes / 8);
    for (uint32_t place = 0; place < std::min(places[block.site], words); ++place) {
      if (random() % 4 == 0) continue;  // null
      const uint32_t near = (i + 1 + random() % 4) % block_count;
      const uint32_t to = random() % 4 != 0 ? near : random() % block_count;
      const auto kind = random() % 50 == 0 ? wire::PointerKind::kInterior : wire::PointerKind::kStart;
      scan.pointers.push_back({.to = to, .offset = place, .kind = kind});
    }
  }
  scan.pointers_begin.push_back(static_cast<uint32_t>(scan.pointers.size()));
  for (uint32_t i = 0; i < block_count / 100; ++i) {
    scan.roots.push_back({.to = random() % block_count,
                          .kind = wire::PointerKind::kStart,
                          .root = i % 3 == 0 ? wire::RootKind::kStack : wire::RootKind::kGlobal,
                          .thread = i % 3 == 0 ? 1 + random() % 4 : 0,
                          .address = 0x7ffff0000000 + uint64_t{i} * 8,
                          .frame_code = i % 3 == 0 ? 0x400000 + random() % 100 * 16 : 0});
  }
  return scan;
}

}  // namespace heaptap::test
