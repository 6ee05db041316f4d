// Encoding and decoding of leak scans in frames: time, and size.
#include <benchmark/benchmark.h>

#include "../../tests/unit/support/made_up_scan.h"
#include "record/trace/compression.h"
#include "record/trace/scan_frames.h"

namespace {

using namespace heaptap;

constexpr uint32_t kSites = 3000;
constexpr int kLevel = 3;

size_t stored_bytes(const model::HeapScan& scan) {
  trace::Compressor compressor(kLevel);
  trace::ScanFrameWriter writer(scan, 0);
  size_t bytes = 0;
  while (const frames::ByteBuffer* payload = writer.next()) {
    bytes += compressor.compress(payload->data(), payload->size()).size();
  }
  return bytes;
}

void scan_frames_write(benchmark::State& state) {
  const model::HeapScan scan = test::heap_like_scan(static_cast<uint32_t>(state.range(0)), kSites);
  size_t bytes = 0;
  for (auto _ : state) bytes = stored_bytes(scan);
  model::HeapScan bare = scan;  // without pointers
  bare.pointers.clear();
  bare.pointers_begin.assign(bare.blocks.size() + 1, 0);
  const size_t bare_bytes = stored_bytes(bare);
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(scan.blocks.size() + scan.pointers.size()));
  state.counters["bytes/block"] = static_cast<double>(bare_bytes) / static_cast<double>(scan.blocks.size());
  state.counters["bytes/pointer"] =
      static_cast<double>(bytes - bare_bytes) / static_cast<double>(std::max<size_t>(scan.pointers.size(), 1));
  state.counters["pointers/block"] =
      static_cast<double>(scan.pointers.size()) / static_cast<double>(scan.blocks.size());
}
BENCHMARK(scan_frames_write)->ArgName("blocks")->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void scan_frames_read(benchmark::State& state) {
  const model::HeapScan scan = test::heap_like_scan(static_cast<uint32_t>(state.range(0)), kSites);
  const model::Tables tables = test::scan_tables(kSites);
  std::vector<std::vector<uint8_t>> payloads;
  trace::ScanFrameWriter writer(scan, 0);
  while (const frames::ByteBuffer* payload = writer.next()) {
    payloads.emplace_back(payload->data(), payload->data() + payload->size());
  }
  for (auto _ : state) {
    trace::ScanFrameReader reader;
    for (const auto& payload : payloads) {
      wire::VarintReader in(payload.data(), payload.size());
      if (!reader.add(in, tables)) state.SkipWithError("damaged frame");
    }
    benchmark::DoNotOptimize(reader.whole());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(scan.blocks.size() + scan.pointers.size()));
}
BENCHMARK(scan_frames_read)->ArgName("blocks")->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
