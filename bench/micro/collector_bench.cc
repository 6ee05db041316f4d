// Events of several threads from a stream in memory into a trace, by a collector with one and more threads: time per event on the
// clock, without reading a log. The argument is the number of threads.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <random>
#include <vector>

#include "common/base/clock.h"
#include "common/wire/functions.h"
#include "record/ingest/trace_builder.h"
#include "record/trace/frame_pool.h"

namespace {

using namespace heaptap;

constexpr uint32_t kThreads = 8;
constexpr uint32_t kNodes = 20'000;
constexpr uint32_t kCodes = 3'000;
constexpr uint64_t kResolutionNs = 100'000;
constexpr size_t kEvents = 3'000'000;

class Tables final : public stream::AgentTables {
 public:
  [[nodiscard]] uint32_t node_count() const override { return kNodes; }
  [[nodiscard]] uint64_t node(uint32_t number) const override { return wire::make_node(number / 3, number % kCodes); }
  [[nodiscard]] uint32_t code_count() const override { return kCodes; }
  [[nodiscard]] uint64_t code(uint32_t index) const override { return 0x1000 + 16 * uint64_t{index}; }
  [[nodiscard]] std::optional<model::Label> label(uint32_t /*number*/) const override { return std::nullopt; }
};

// What threads do that take turns at random, each in a few routines that it repeats: allocations, and releases of most of
// them soon, of one in four by another thread later.
log::RawEvents make_events() {
  log::RawEvents events;
  std::mt19937_64 random(3);
  std::vector<uint64_t> free_addresses;
  std::vector<uint64_t> handed_on;
  uint64_t addresses = 0;
  uint64_t time = 1000;
  const auto add = [&](wire::RecordKind kind, wire::Function function, uint64_t address, uint64_t size, uint32_t stack,
                       uint32_t thread) {
    events.push_back(
        {time += 100, wire::make_tagged_address(kind, static_cast<uint8_t>(function), address), size, stack, thread});
  };
  while (events.size() < kEvents) {
    const auto thread = static_cast<uint32_t>(1 + random() % kThreads);
    const auto routine = static_cast<uint32_t>(random() % 64 * (random() % 8 + 1));
    uint64_t own[6];
    for (uint32_t i = 0; i < std::size(own); ++i) {
      const bool is_new = free_addresses.empty() || random() % 16 == 0;
      own[i] = is_new ? 0x7f0000000000 + 32 * ++addresses : free_addresses.back();
      if (!is_new) free_addresses.pop_back();
      add(wire::RecordKind::kAllocate, wire::Function::kMalloc, own[i], 16 + random() % 8 * 24, 64 + routine * 12 + i,
          thread);
    }
    for (uint32_t i = 0; i < std::size(own); ++i) {
      uint64_t address = own[i];
      if (random() % 4 == 0) {
        handed_on.push_back(address);
        if (handed_on.size() < 5'000) continue;
        address = std::exchange(handed_on[random() % handed_on.size()], handed_on.back());
        handed_on.pop_back();
      }
      free_addresses.push_back(address);
      add(wire::RecordKind::kRelease, wire::Function::kFree, address, 0, 64 + routine * 12 + 6 + i, thread);
    }
  }
  return events;
}

const log::RawEvents& all_events() {
  static const log::RawEvents events = make_events();
  return events;
}

class Stored final : public stream::EventStream {
 public:
  uint64_t drain(log::RawEvents& events, bool /*last*/) override {
    constexpr size_t kAtOnce = size_t{2048} * kThreads;
    const log::RawEvents& all = all_events();
    const size_t count = std::min(kAtOnce, all.size() - next_);
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(next_);
    events.insert(events.end(), from, from + static_cast<std::ptrdiff_t>(count));
    next_ += count;
    return count * sizeof(wire::Record);
  }
  [[nodiscard]] stream::StreamState state() const override {
    const bool is_empty = next_ == all_events().size();
    return {
        .complete_until = next_ == 0 ? 0 : all_events()[next_ - 1].time, .has_unread = !is_empty, .is_empty = is_empty};
  }
  [[nodiscard]] uint64_t max_bytes_left() const override { return UINT64_MAX; }
  [[nodiscard]] const stream::AgentTables& tables() const override { return tables_; }
  void take_modules(std::vector<model::Module>& /*modules*/) override {}
  void take_threads(std::vector<model::Thread>& /*threads*/) override {}
  std::string take_text(uint32_t /*number*/) override { return {}; }

 private:
  Tables tables_;
  size_t next_ = 0;
};

void collector(benchmark::State& state) {
  const std::string path = std::filesystem::temp_directory_path() / fmt::format("collector_bench.{}.htap", getpid());
  (void)all_events();
  model::Capture capture;
  capture.time_resolution_ns = kResolutionNs;
  uint64_t bytes = 0;
  const uint64_t own_before = base::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  for (auto _ : state) {
    trace::FramePool pool(static_cast<unsigned>(state.range(0)));
    auto writer = *trace::TraceWriter::create(path, true);
    writer->share_frames(&pool);
    Stored stream;
    ingest::TraceBuilder builder(stream, *writer, kResolutionNs, true);
    builder.drain_beside_coding();
    if (!writer->begin(capture)) state.SkipWithError("no trace can be written");
    while (!stream.state().is_empty) builder.take_next();
    builder.take_all();
    builder.write_frame();
    bytes = writer->bytes_written();
  }
  const auto own_ns = static_cast<double>(base::clock_ns(CLOCK_THREAD_CPUTIME_ID) - own_before);
  std::filesystem::remove(path);
  // CPU of the thread that codes: with more threads the speed that can be reached.
  state.counters["coder's ns/event"] =
      own_ns / static_cast<double>(state.iterations()) / static_cast<double>(all_events().size());
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(all_events().size()));
  state.counters["bytes/event"] = static_cast<double>(bytes) / static_cast<double>(all_events().size());
}
BENCHMARK(collector)->ArgName("threads")->Arg(1)->Arg(2)->Arg(3)->Arg(4)->UseRealTime()->MeasureProcessCPUTime();

}  // namespace
