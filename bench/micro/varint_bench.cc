// Variable-length integers, by bit width.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "common/wire/varint.h"

namespace {

using namespace heaptap;

std::vector<uint64_t> make_numbers(int64_t bits) {
  std::mt19937_64 random(1);
  std::vector<uint64_t> numbers(4096);
  for (uint64_t& number : numbers) number = random() >> (64 - bits);
  return numbers;
}

std::vector<uint8_t> encode(const std::vector<uint64_t>& numbers) {
  std::vector<uint8_t> bytes(numbers.size() * wire::kMaxVarintBytes);
  uint8_t* at = bytes.data();
  for (const uint64_t number : numbers) at = wire::write_varint(at, number);
  bytes.resize(static_cast<size_t>(at - bytes.data()));
  return bytes;
}

void varint_write(benchmark::State& state) {
  const std::vector<uint64_t> numbers = make_numbers(state.range(0));
  std::vector<uint8_t> bytes(numbers.size() * wire::kMaxVarintBytes);
  for (auto _ : state) {
    uint8_t* at = bytes.data();
    for (const uint64_t number : numbers) at = wire::write_varint(at, number);
    benchmark::DoNotOptimize(at);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(numbers.size()));
}
BENCHMARK(varint_write)->Arg(7)->Arg(14)->Arg(32)->Arg(64);

void varint_read(benchmark::State& state) {
  const std::vector<uint64_t> numbers = make_numbers(state.range(0));
  const std::vector<uint8_t> bytes = encode(numbers);
  for (auto _ : state) {
    wire::VarintReader reader(bytes.data(), bytes.size());
    uint64_t sum = 0;
    while (!reader.at_end()) sum += reader.varint();
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(numbers.size()));
}
BENCHMARK(varint_read)->Arg(7)->Arg(14)->Arg(32)->Arg(64);

}  // namespace
