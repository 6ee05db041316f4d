// Ledger: time per event, by number of live blocks.
#include <benchmark/benchmark.h>

#include "analysis/ledger/ledger.h"
#include "synthetic_events.h"

namespace {

using namespace heaptap;

constexpr size_t kBatchEvents = 65536;

void ledger_add(benchmark::State& state) {
  bench::SyntheticEvents events(static_cast<size_t>(state.range(0)));
  ledger::Ledger ledger({.time_resolution_ns = 100'000});
  for (auto _ : state) {
    state.PauseTiming();
    const model::EventBatch& batch = events.next(kBatchEvents);
    state.ResumeTiming();
    ledger.add(batch, events.tables);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kBatchEvents));
}
BENCHMARK(ledger_add)->Arg(1 << 10)->Arg(1 << 16)->Arg(1 << 20);

void block_table_insert_and_take(benchmark::State& state) {
  ledger::BlockTable table(true);
  const auto live = static_cast<uint64_t>(state.range(0));
  ledger::Block block{.size_bytes = 64, .site = 1, .thread = 1};
  model::BlockNumber next = 1;
  for (; next <= live; ++next) table.insert(next, block);
  for (auto _ : state) {
    table.insert(next, block);
    benchmark::DoNotOptimize(table.take(next - live, [](const ledger::Block&) {}));
    ++next;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(block_table_insert_and_take)->Arg(1 << 10)->Arg(1 << 20);

}  // namespace
