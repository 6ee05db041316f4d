// What is alive by events alone is what the trace's maker takes for alive, whatever order they come in.
#include "capture/stream/live_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "record/ingest/event_coder.h"
#include "record/recordings/recorded_blocks.h"

namespace heaptap::stream {
namespace {

using wire::RawEvent;
using wire::RecordKind;

class NoTables : public AgentTables {
 public:
  [[nodiscard]] uint32_t node_count() const override { return wire::kRootCount; }
  [[nodiscard]] uint64_t node(uint32_t /*number*/) const override { return 0; }
  [[nodiscard]] uint32_t code_count() const override { return 0; }
  [[nodiscard]] uint64_t code(uint32_t /*index*/) const override { return 0; }
  [[nodiscard]] std::optional<model::Label> label(uint32_t /*number*/) const override { return std::nullopt; }
};

RawEvent event(RecordKind kind, wire::Function function, uint64_t time, uint64_t address, uint64_t size,
               uint32_t thread) {
  return {.time = time,
          .tagged_address = wire::make_tagged_address(kind, static_cast<uint8_t>(function), address),
          .size_bytes = size,
          .stack = 0,
          .thread = thread};
}

std::vector<model::ScannedBlock> alive_by_coder(std::vector<RawEvent> events) {
  const NoTables none;
  model::Tables tables;
  ingest::EventCoder coder(none, tables, 1, true);
  coder.expect_doubles();
  model::EventBatch batch;
  for (std::span<RawEvent> rest = events; !rest.empty();) rest = rest.subspan(coder.take(rest, {}, 4096, true, batch));
  std::vector<model::ScannedBlock> alive;
  coder.blocks().for_each_live([&alive](uint64_t address, const ingest::BlockMap::Block& block) {
    alive.push_back({address, block.size_bytes, 0, 0, 0});
  });
  std::ranges::sort(alive, {}, &model::ScannedBlock::address);
  return alive;
}

// Of three threads at few addresses, in nearly the order in which things happened; some are missing.
std::vector<RawEvent> random_events(std::mt19937& random) {
  std::vector<RawEvent> events;
  uint64_t time = 1000;
  for (int i = 0; i < 400; ++i) {
    time += random() % 3 == 0 ? random() % (3 * kMaxDisorder) : random() % 100;
    const uint64_t address = 0x10000 + random() % 12 * 64;
    const auto thread = static_cast<uint32_t>(1 + random() % 3);
    switch (random() % 8) {
      case 0:
      case 1:
      case 2:
        events.push_back(event(RecordKind::kAllocate, wire::Function::kMalloc, time, address, random() % 1000, thread));
        break;
      case 3:  // a realloc that failed
        events.push_back(event(RecordKind::kRelease, wire::Function::kRealloc, time, address, 0, thread));
        events.push_back(event(RecordKind::kUndo, wire::Function::kRealloc, time, address, 0, thread));
        break;
      default:
        events.push_back(event(RecordKind::kRelease, wire::Function::kFree, time, address, 0, thread));
    }
  }
  return events;
}

TEST(LiveBlocks, AreThoseOfTheTracesMaker) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const std::vector<RawEvent> events = random_events(random);
    LiveBlocks live;
    live.apply(events);
    const auto expected = alive_by_coder(events);
    const auto alive = live.alive();
    ASSERT_EQ(alive.size(), expected.size()) << round;
    EXPECT_EQ(fingerprint(alive, {}), fingerprint(expected, {})) << round;
  }
}

// As a host tells them.
Unsettled released_of(const LiveBlocks& blocks) {
  Unsettled unsettled;
  for (const base::AddressRange& range : recordings::released_to_tell(blocks))
    unsettled.released.push_back({0, range.begin, range.size()});
  return unsettled;
}

// What the trace's maker had when it was asked, told to the other machine, and what came there since: whatever it was asked between.
TEST(LiveBlocks, GoOnWithWhatIsTold) {
  std::mt19937 random(5);
  for (int round = 0; round < 1000; ++round) {
    std::vector<RawEvent> events = random_events(random);
    const auto expected = alive_by_coder(events);
    const size_t cut = random() % events.size();
    const NoTables none;
    model::Tables tables;
    ingest::EventCoder coder(none, tables, 1, true);
    model::EventBatch batch;
    const std::span before = std::span(events).first(cut);
    size_t taken = 0;
    for (size_t more = 1; more > 0 && taken < cut; taken += more) {
      more = coder.take(before.subspan(taken), {}, 4096, false, batch);
    }
    const LiveBlocks asked =
        recordings::live_blocks_of(coder, before.subspan(taken), [](model::SiteId) { return true; }, true);
    LiveBlocks told;
    for (const model::ScannedBlock& block : asked.alive()) told.add(block.address, block.size_bytes);
    told.add_unsettled(asked.unsettled());
    told.add_unsettled(released_of(asked));
    told.apply(std::span(events).subspan(cut));
    EXPECT_EQ(fingerprint(told.alive(), {}), fingerprint(expected, {})) << round;
  }
}

// Allocated twice, released in another pool, after the pool's end: as the trace's maker has them.
TEST(LiveBlocks, OfPoolsAreThoseOfTheTracesMaker) {
  std::mt19937 random(4);
  for (int round = 0; round < 300; ++round) {
    std::vector<RawEvent> events;
    LiveBlocks live;
    for (int i = 0; i < 200; ++i) {
      const uint64_t address = 0x10000 + random() % 12 * 64;
      const auto pool = static_cast<uint32_t>(1 + random() % 3);
      const bool is_resource = random() % 5 == 0;
      const uint64_t size = wire::make_pooled_size(pool + (is_resource ? 8 : 0), random() % 100);
      const unsigned what = random() % 8;
      const RecordKind kind = what == 0  ? RecordKind::kPoolDestroy
                              : what < 4 ? RecordKind::kPoolRelease
                                         : RecordKind::kPoolAllocate;
      const auto function = kind == RecordKind::kPoolAllocate
                                ? (is_resource ? wire::Function::kResourceOpen : wire::Function::kPoolAllocate)
                                : (is_resource ? wire::Function::kResourceClose : wire::Function::kPoolRelease);
      events.push_back(event(kind, function, uint64_t{1000} + static_cast<uint64_t>(i), address, size, 1));
    }
    const size_t half = events.size() / 2;
    const auto first = std::span(events).first(half);
    const NoTables none;
    model::Tables tables;
    ingest::EventCoder coder(none, tables, 1, true);
    model::EventBatch batch;
    const auto is_memory = [&](model::SiteId site) {
      return wire::facts_of(tables.sites[site].function).family == wire::Family::kPool;
    };
    const auto take = [&](std::span<RawEvent> rest) {
      while (!rest.empty()) rest = rest.subspan(coder.take(rest, {}, 4096, true, batch));
    };
    take(first);
    // Told, as by another machine, and then by events.
    coder.pooled().for_each([&](uint64_t address, uint64_t pooled_size, model::SiteId site) {
      if (is_memory(site)) live.add_pooled(address, pooled_size);
    });
    LiveBlocks told;
    for (const model::ScannedBlock& block : live.pooled_to_tell()) told.add_pooled(block.address, block.size_bytes);
    told.apply(std::span(events).subspan(half));
    take(std::span(events).subspan(half));
    const auto expected = coder.pooled().in_order(is_memory);
    ASSERT_EQ(told.pooled().size(), expected.size()) << round;
    EXPECT_EQ(fingerprint({}, told.pooled()), fingerprint({}, expected)) << round;
    EXPECT_TRUE(
        std::ranges::equal(told.pooled(), expected, {}, &model::ScannedBlock::number, &model::ScannedBlock::number));
  }
}

TEST(LiveBlocks, BeginWithWhatIsKnown) {
  LiveBlocks live;
  live.add(0x1000, 10);
  live.add(0x2000, 20);
  live.apply(event(RecordKind::kRelease, wire::Function::kFree, 1, 0x1000, 0, 1));
  live.apply(event(RecordKind::kAllocate, wire::Function::kMalloc, 2, 0x3000, 30, 1));
  const auto alive = live.alive();
  ASSERT_EQ(alive.size(), 2u);
  EXPECT_EQ(alive[0].address, 0x2000u);
  EXPECT_EQ(alive[1].size_bytes, 30u);
}

TEST(LiveBlocks, ReleasedOnesAreToldUnlessTheirMemoryIsInUse) {
  LiveBlocks asked;
  asked.add(0x1020, 16);
  asked.add(0x4000, 16);
  for (const uint64_t address : {0x1000, 0x1040, 0x3000, 0x5000}) asked.add_released(address, 48);
  LiveBlocks told;
  told.add_unsettled(released_of(asked));
  told.apply(event(RecordKind::kAllocate, wire::Function::kMalloc, 1, 0x3000, 8, 1));
  told.add(0x6000, 32);
  told.apply(event(RecordKind::kRelease, wire::Function::kFree, 2, 0x6000, 0, 1));
  const std::vector<base::AddressRange> expected{{0x1040, 0x1070}, {0x5000, 0x5030}, {0x6000, 0x6020}};
  EXPECT_EQ(told.released(), expected);
  ASSERT_EQ(told.alive().size(), 1u);
  EXPECT_EQ(told.alive()[0].address, 0x3000u);
}

}  // namespace
}  // namespace heaptap::stream
