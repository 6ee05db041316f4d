// Lookup of block numbers by address in the collector, by number of live blocks.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <vector>

#include "record/ingest/block_map.h"

namespace {

using namespace heaptap;

// Addresses as an allocator hands them out, in any order.
std::vector<uint64_t> make_addresses(size_t count) {
  std::vector<uint64_t> addresses;
  for (size_t i = 0; i < count; ++i) addresses.push_back(0x5555'0000'0000 + i * 48);
  std::shuffle(addresses.begin(), addresses.end(), std::mt19937_64(1));
  return addresses;
}

void block_map_release_and_allocate(benchmark::State& state) {
  const std::vector<uint64_t> addresses = make_addresses(static_cast<size_t>(state.range(0)));
  ingest::BlockMap blocks;
  model::BlockNumber number = 1;
  const auto block = [&number] {
    return ingest::BlockMap::Block{
        .number = number++, .size_bytes = 40, .allocated_at = 1, .released_at = ingest::BlockMap::kAlive};
  };
  for (const uint64_t address : addresses) blocks.allocate(address, block());
  size_t at = 0;
  for (auto _ : state) {
    blocks.find(addresses[at])->released_at = 2;
    blocks.allocate(addresses[at], block());
    at = at + 1 == addresses.size() ? 0 : at + 1;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(block_map_release_and_allocate)->Arg(1 << 10)->Arg(1 << 16)->Arg(1 << 20);

}  // namespace
