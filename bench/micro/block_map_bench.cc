// Lookup of block numbers by address in the collector, by number of live blocks.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <vector>

#include "record/ingest/block_map.h"

namespace {

using namespace heaptap;

constexpr uint64_t kHeap = 0x5555'0000'0000;
constexpr uint64_t kStride = 48;
constexpr size_t kAhead = 12;  // places are fetched ahead, as the coder does it

ingest::BlockMap::Block block(model::BlockNumber number) {
  return {.number = number, .size_bytes = 40, .allocated_at = 1, .released_at = ingest::BlockMap::kAlive};
}

// Addresses as an allocator hands them out, in any order.
std::vector<uint64_t> make_addresses(size_t count) {
  std::vector<uint64_t> addresses;
  for (size_t i = 0; i < count; ++i) addresses.push_back(kHeap + i * kStride);
  std::shuffle(addresses.begin(), addresses.end(), std::mt19937_64(1));
  return addresses;
}

void block_map_release_and_allocate(benchmark::State& state) {
  const std::vector<uint64_t> addresses = make_addresses(static_cast<size_t>(state.range(0)));
  ingest::BlockMap blocks;
  model::BlockNumber number = 1;
  for (const uint64_t address : addresses) blocks.allocate(address, block(number++));
  size_t at = 0;
  for (auto _ : state) {
    blocks.prefetch(addresses[(at + kAhead) % addresses.size()]);
    blocks.release(blocks.find(addresses[at]), 2);
    blocks.allocate(addresses[at], block(number++));
    at = at + 1 == addresses.size() ? 0 : at + 1;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(block_map_release_and_allocate)->Arg(1 << 10)->Arg(1 << 16)->Arg(1 << 20);

// From nothing to that many live blocks, and back; an item is a block.
void block_map_grow_and_shrink(benchmark::State& state) {
  const auto count = static_cast<uint64_t>(state.range(0));
  size_t bytes = 0;
  for (auto _ : state) {
    ingest::BlockMap blocks;
    for (uint64_t i = 0; i < count; ++i) {
      blocks.prefetch(kHeap + (i + kAhead) * kStride);
      blocks.allocate(kHeap + i * kStride, block(i + 1));
    }
    bytes = blocks.bytes();
    for (uint64_t i = 0; i < count; ++i) {
      blocks.prefetch(kHeap + (i + kAhead) * kStride);
      blocks.release(blocks.find(kHeap + i * kStride), 2);
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["bytes_each"] = static_cast<double>(bytes) / static_cast<double>(count);
}
BENCHMARK(block_map_grow_and_shrink)->Arg(1 << 10)->Arg(1 << 16)->Arg(1 << 20);

// As many blocks, each at an address that wasn't used before: released ones are forgotten all the time.
void block_map_move_on(benchmark::State& state) {
  const auto count = static_cast<uint64_t>(state.range(0));
  ingest::BlockMap blocks;
  for (uint64_t i = 0; i < count; ++i) blocks.allocate(kHeap + i * kStride, block(i + 1));
  uint64_t at = 0;
  for (auto _ : state) {
    const uint64_t address = kHeap + at * kStride;
    blocks.prefetch(address + kAhead * kStride);
    blocks.prefetch(address + (kAhead + count) * kStride);
    blocks.release(blocks.find(address), 2);
    blocks.allocate(address + count * kStride, block(++at + count));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(block_map_move_on)->Arg(1 << 10)->Arg(1 << 16)->Arg(1 << 20);

}  // namespace
