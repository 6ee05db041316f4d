// Encoding and decoding of events in frames: time per event, and size.
#include <benchmark/benchmark.h>

#include "record/trace/event_frame.h"
#include "synthetic_events.h"

namespace {

using namespace heaptap;

constexpr size_t kBatchEvents = 65536;
constexpr uint64_t kResolutionNs = 100'000;
constexpr size_t kLiveBlocks = 1 << 16;

void event_frame_write(benchmark::State& state) {
  bench::SyntheticEvents events(kLiveBlocks);
  trace::EventFrameWriter writer(static_cast<int>(state.range(0)));
  size_t bytes = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const model::EventBatch& batch = events.next(kBatchEvents);
    state.ResumeTiming();
    bytes = writer.write(batch, events.tables.sites, kResolutionNs).size();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kBatchEvents));
  state.counters["bytes/event"] = static_cast<double>(bytes) / static_cast<double>(kBatchEvents);
}
BENCHMARK(event_frame_write)->ArgName("zstd level")->Arg(1)->Arg(3);

void event_frame_read(benchmark::State& state) {
  const bool with_addresses = state.range(0) != 0;
  bench::SyntheticEvents events(kLiveBlocks);
  trace::EventFrameWriter writer(1);
  const frames::ByteBuffer& payload = writer.write(events.next(kBatchEvents), events.tables.sites, kResolutionNs);
  trace::EventFrameReader reader;
  model::EventBatch batch;
  for (auto _ : state) {
    wire::VarintReader in(payload.data(), payload.size());
    if (!reader.read(in, events.tables, kResolutionNs, with_addresses, batch)) state.SkipWithError("damaged frame");
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kBatchEvents));
}
BENCHMARK(event_frame_read)->ArgName("addresses")->Arg(0)->Arg(1);

}  // namespace
