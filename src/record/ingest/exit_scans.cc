#include "record/ingest/exit_scans.h"

#include <algorithm>
#include <vector>

namespace heaptap::ingest {
namespace {

// By block; pointers of any kind.
std::vector<bool> led_to(const model::HeapScan& scan) {
  std::vector<bool> is_led_to(scan.blocks.size());
  std::vector<uint32_t> queue;
  const auto take = [&](uint32_t block) {
    if (is_led_to[block]) return;
    is_led_to[block] = true;
    queue.push_back(block);
  };
  for (const model::RootPointer& root : scan.roots) take(root.to);
  while (!queue.empty()) {
    const uint32_t from = queue.back();
    queue.pop_back();
    for (uint32_t i = scan.pointers_begin[from]; i < scan.pointers_begin[from + 1]; ++i) take(scan.pointers[i].to);
  }
  return is_led_to;
}

}  // namespace

bool loses_holders(const model::HeapScan& start, const model::HeapScan& end) {
  const std::vector<bool> at_end = led_to(end);
  std::vector<model::BlockNumber> lost;
  for (uint32_t i = 0; i < end.blocks.size(); ++i) {
    if (!at_end[i]) lost.push_back(end.blocks[i].number);
  }
  if (lost.empty()) return false;
  std::ranges::sort(lost);
  const std::vector<bool> at_start = led_to(start);
  for (uint32_t i = 0; i < start.blocks.size(); ++i) {
    if (at_start[i] && std::ranges::binary_search(lost, start.blocks[i].number)) return true;
  }
  return false;
}

}  // namespace heaptap::ingest
