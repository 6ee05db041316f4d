// Heap scans built by hand, and at random.
#pragma once
#include <algorithm>
#include <random>
#include <vector>

#include "common/model/heap_scan.h"

namespace heaptap::test {

struct GraphEdge {
  uint32_t from;
  uint32_t to;
  wire::PointerKind kind = wire::PointerKind::kStart;
};

struct GraphRoot {
  uint32_t to;
  wire::PointerKind kind = wire::PointerKind::kStart;
  wire::RootKind root = wire::RootKind::kGlobal;
};

// Block i has number i + 1 and size 100 + i.
inline model::HeapScan make_scan(uint32_t blocks, std::vector<GraphEdge> edges, const std::vector<GraphRoot>& roots) {
  model::HeapScan scan;
  for (uint32_t i = 0; i < blocks; ++i) {
    scan.blocks.push_back(
        {.address = 0x1000 + i * 0x100u, .size_bytes = 100 + i, .number = i + 1, .site = 0, .type = 0});
  }
  std::stable_sort(edges.begin(), edges.end(), [](const GraphEdge& a, const GraphEdge& b) { return a.from < b.from; });
  scan.pointers_begin.push_back(0);
  size_t at = 0;
  for (uint32_t i = 0; i < blocks; ++i) {
    for (uint32_t offset = 0; at < edges.size() && edges[at].from == i; ++at, ++offset) {
      scan.pointers.push_back({.to = edges[at].to, .offset = offset, .kind = edges[at].kind});
    }
    scan.pointers_begin.push_back(static_cast<uint32_t>(scan.pointers.size()));
  }
  for (const GraphRoot& root : roots) {
    scan.roots.push_back(
        {.to = root.to, .kind = root.kind, .root = root.root, .thread = 0, .address = 0, .frame_code = 0});
  }
  return scan;
}

inline model::HeapScan make_random_scan(std::mt19937& random, uint32_t max_blocks) {
  const auto below = [&random](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
  const auto kind = [&] { return static_cast<wire::PointerKind>(below(3) != 0 ? 0 : below(wire::kPointerKindCount)); };
  const uint32_t blocks = 1 + below(max_blocks);
  std::vector<GraphEdge> edges(below(blocks * 2 + 1));
  for (GraphEdge& edge : edges) edge = {below(blocks), below(blocks), kind()};
  std::vector<GraphRoot> roots(below(1 + blocks / 4));
  for (GraphRoot& root : roots)
    root = {below(blocks), kind(), static_cast<wire::RootKind>(below(wire::kRootKindCount))};
  model::HeapScan scan = make_scan(blocks, std::move(edges), roots);
  std::vector<model::BlockNumber> numbers;
  for (const model::ScannedBlock& block : scan.blocks) numbers.push_back(block.number);
  std::shuffle(numbers.begin(), numbers.end(), random);
  for (uint32_t i = 0; i < blocks; ++i) scan.blocks[i].number = numbers[i];
  return scan;
}

}  // namespace heaptap::test
