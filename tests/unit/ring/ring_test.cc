// The last part of a recording, beside the whole of it: what is live is the same, and so is all that comes after the part's beginning.
#include "record/ring/ring.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "common/wire/labels.h"
#include "common/wire/mapping.h"
#include "random_events.h"
#include "record/ring/live_rule.h"
#include "record/trace/trace_reader.h"

namespace heaptap::ring {
namespace {

using model::Event;
using model::EventBatch;
using model::EventKind;
using trace::test::kResolutionNs;
using trace::test::Maker;
using trace::test::sample_capture;

using Block = std::tuple<uint64_t, uint64_t, model::SiteId>;  // address, size, site

// What a trace's reader makes of its events.
struct State : model::EventSink {
  std::map<model::BlockNumber, Block> live;
  std::map<uint64_t, Block> mapped;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> pooled;  // by pool and address: size
  std::map<model::ThreadId, std::pair<model::BlockNumber, Block>> last_released;
  std::vector<std::string> told;  // all but allocations, in words that don't depend on numbers
  uint64_t allocations = 0;
  uint64_t bad = 0;

  void on_batch(const EventBatch& batch, const model::Tables& tables) override {
    model::BlockNumber next = batch.first_block;
    for (const Event& event : batch.events) take(event, tables.sites[event.site].kind, next);
    bad += batch.bad_releases.size();
  }

  void take(const Event& event, EventKind kind, model::BlockNumber& next) {
    const uint64_t pool = wire::pool_of(event.size_or_block);
    switch (kind) {
      case EventKind::kAllocate:
        ++allocations;
        live[next++] = {event.address, event.size_or_block, event.site};
        return;
      case EventKind::kRelease:
        if (event.block() == model::kUnknownBlock) return;
        ASSERT_TRUE(live.contains(event.block()));
        last_released[event.thread] = {event.block(), live[event.block()]};
        tell("release", event, std::get<1>(live[event.block()]));
        live.erase(event.block());
        return;
      case EventKind::kUndo:
        ASSERT_TRUE(last_released.contains(event.thread));
        live[last_released[event.thread].first] = last_released[event.thread].second;
        last_released.erase(event.thread);
        return tell("undo", event, 0);
      case EventKind::kMap:
        mapped[event.address] = {event.address, event.size_or_block, event.site};
        return tell("map", event, event.size_or_block);
      case EventKind::kUnmap:
        mapped.erase(event.address);
        return tell("unmap", event, event.size_or_block);
      case EventKind::kProtect:
        return tell("protect", event, event.size_or_block);
      case EventKind::kPoolAllocate:
        pooled[{pool, event.address}] = wire::size_in_pool(event.size_or_block);
        return tell("pool allocate", event, event.size_or_block);
      case EventKind::kPoolRelease:
        pooled.erase({pool, event.address});
        return tell("pool release", event, event.size_or_block);
      case EventKind::kPoolDestroy:
        std::erase_if(pooled, [pool](const auto& each) { return each.first.first == pool; });
        return tell("pool destroy", event, 0);
    }
  }
  void tell(const char* what, const Event& event, uint64_t size) {
    told.push_back(std::string(what) + " " + std::to_string(event.site) + " " + std::to_string(event.thread) + " " +
                   std::to_string(size));
  }
  [[nodiscard]] std::vector<Block> live_blocks() const {
    std::vector<Block> blocks;
    // Frames don't keep the address of a block whose release in them was undone.
    for (const auto& [number, block] : live) blocks.emplace_back(0, std::get<1>(block), std::get<2>(block));
    std::ranges::sort(blocks);
    return blocks;
  }
};

// A program's events: only what is live is released, and only a thread's last release is undone.
class Program {
 public:
  explicit Program(uint32_t seed) : random_(seed), tables_(seed) {
    for (model::SiteId site = 0; site < tables_.tables().sites.size(); ++site) {
      sites_[tables_.tables().sites[site].kind].push_back(site);
    }
  }
  [[nodiscard]] const model::Tables& tables() const { return tables_.tables(); }

  EventBatch batch(size_t count) {
    EventBatch batch;
    batch.first_block = next_;
    for (size_t i = 0; i < count; ++i) {
      if (i == 0 || pick(20) == 0)
        batch.time_marks.push_back({static_cast<uint32_t>(i), time_ns_ += pick(9) * kResolutionNs});
      add(batch);
    }
    return batch;
  }

 private:
  uint64_t pick(uint64_t below) { return random_() % below; }
  void add(EventBatch& batch, EventKind kind, uint64_t value, uint64_t address) {
    const std::vector<model::SiteId>& sites = sites_[kind];
    batch.events.push_back({sites[pick(sites.size())], thread_, value, address});
  }
  void add(EventBatch& batch) {
    thread_ = static_cast<model::ThreadId>(1 + pick(4));
    const uint64_t chance = pick(100);
    if (undoable_.contains(thread_) && chance < 20) {
      live_.push_back(undoable_[thread_]);
      undoable_.erase(thread_);
      return add(batch, EventKind::kUndo, 0, 0);
    }
    if (!live_.empty() && chance < 50) {
      const size_t at = pick(live_.size());
      undoable_[thread_] = live_[at];
      add(batch, EventKind::kRelease, live_[at], 0);
      live_.erase(live_.begin() + static_cast<ptrdiff_t>(at));
    } else if (chance < 92) {
      live_.push_back(next_++);
      add(batch, EventKind::kAllocate, 1 + pick(1000), (next_ << 12));
    } else if (chance < 94) {
      model::BadRelease bad{};
      bad.event = static_cast<uint32_t>(batch.events.size());
      bad.kind = model::BadReleaseKind::kNeverAllocated;
      batch.bad_releases.push_back(bad);
      add(batch, EventKind::kRelease, model::kUnknownBlock, 0);
    } else if (chance < 96) {
      add(batch, EventKind::kMap, wire::make_mapped(4096, {}), pick(16) << 20);
    } else if (chance < 98) {
      add(batch, EventKind::kUnmap, 4096, pick(16) << 20);
    } else {
      const EventKind kind = chance == 98 ? EventKind::kPoolAllocate : EventKind::kPoolRelease;
      add(batch, pick(20) == 0 ? EventKind::kPoolDestroy : kind,
          wire::make_pooled_size(static_cast<uint32_t>(pick(3)), 8), pick(30));
    }
  }

  std::mt19937_64 random_;
  Maker tables_;
  std::map<EventKind, std::vector<model::SiteId>> sites_;
  std::vector<model::BlockNumber> live_;
  std::map<model::ThreadId, model::BlockNumber> undoable_;
  model::BlockNumber next_ = 1;
  model::ThreadId thread_ = 1;
  uint64_t time_ns_ = 0;
};

std::string file_of(const char* name) {
  return std::filesystem::temp_directory_path() / (std::string("heaptap-ring-test.") + std::to_string(getpid()) + name);
}

class RingTest : public testing::TestWithParam<uint32_t> {
 protected:
  ~RingTest() override {
    std::filesystem::remove(whole_path_);
    std::filesystem::remove(part_path_);
  }
  static void read(const std::string& path, State& state, model::Capture& capture, std::vector<model::Mark>& marks) {
    auto reader = trace::TraceReader::open(path);
    EXPECT_TRUE(reader) << reader.error().message;
    EXPECT_TRUE(reader->replay(state, {.addresses = true}));
    capture = reader->capture();
    marks = reader->marks();
    EXPECT_FALSE(capture.truncated) << capture.damage;
  }

  const std::string whole_path_ = file_of("whole");
  const std::string part_path_ = file_of("part");
};

TEST_P(RingTest, HasWhatIsLiveAndAllThatCameLast) {
  Program program(GetParam());
  auto whole = *trace::TraceWriter::create(whole_path_, true);
  auto frames = *trace::TraceWriter::create_in_memory("memory");
  model::Capture capture = sample_capture();
  capture.time_resolution_ns = kResolutionNs;
  ASSERT_TRUE(whole->begin(capture));
  ASSERT_TRUE(frames->begin(capture));
  constexpr uint64_t kMaxBytes = 6000;
  Ring ring(*frames, kMaxBytes, kResolutionNs);
  uint64_t events = 0;
  std::vector<model::Mark> marks;
  for (int i = 0; i < 300; ++i) {
    const EventBatch batch = program.batch(1 + GetParam() * 7 % 50);
    whole->add(batch, program.tables());
    frames->add(batch, program.tables());
    events += batch.events.size();
    if (i % 10 == 0) marks.push_back(whole->add_mark({.name = std::to_string(i)}));
    if (i % 3 != 0) continue;
    ASSERT_TRUE(frames->flush(program.tables()));
    ring.trim(program.tables());
  }
  ASSERT_TRUE(whole->finish(capture, program.tables()));
  ASSERT_TRUE(frames->flush(program.tables()));
  auto part = *trace::TraceWriter::create(part_path_, true);
  ASSERT_TRUE(ring.begin({.capture = capture, .marks = marks}, program.tables(), std::move(part)));
  // The recording goes on while it is written.
  ASSERT_FALSE(ring.proceed());
  ASSERT_TRUE(frames->write(program.batch(100), program.tables()));
  const auto written = ring.complete();
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_FALSE(ring.is_writing());

  std::vector<model::Mark> all_marks;
  std::vector<model::Mark> part_marks;
  State expected;
  State found;
  read(whole_path_, expected, capture, all_marks);
  read(part_path_, found, capture, part_marks);
  EXPECT_EQ(found.live_blocks(), expected.live_blocks());
  EXPECT_EQ(found.mapped, expected.mapped);
  EXPECT_EQ(found.pooled, expected.pooled);
  EXPECT_EQ(found.bad, expected.bad);
  ASSERT_EQ(part_marks.size(), marks.size());
  for (size_t i = 0; i < marks.size(); ++i) EXPECT_EQ(part_marks[i].name, marks[i].name);
  ASSERT_TRUE(model::has_note(capture.notes, model::NoteKind::kOnlyTheLast)) << "it is to overflow";
  const model::Note note = *std::ranges::find(capture.notes, model::NoteKind::kOnlyTheLast, &model::Note::kind);
  EXPECT_EQ(found.allocations + note.number(1), expected.allocations);
  EXPECT_LT(found.allocations, expected.allocations);
  // All that is told of the part, at the end of what is told of the whole.
  const size_t last = std::min<size_t>(found.told.size(), 60);
  EXPECT_TRUE(std::equal(found.told.end() - static_cast<ptrdiff_t>(last), found.told.end(),
                         expected.told.end() - static_cast<ptrdiff_t>(last)));
  EXPECT_EQ(capture.gaps & model::kGapDroppedPast, uint32_t{model::kGapDroppedPast});
}

INSTANTIATE_TEST_SUITE_P(Programs, RingTest, testing::Range(1u, 25u));

TEST(Ring, ThatNeverOverflowedHasEverything) {
  const std::string path = file_of("small");
  Program program(7);
  auto frames = *trace::TraceWriter::create_in_memory("memory");
  model::Capture capture = sample_capture();
  capture.time_resolution_ns = kResolutionNs;
  ASSERT_TRUE(frames->begin(capture));
  Ring ring(*frames, uint64_t{1} << 20, kResolutionNs);
  const EventBatch batch = program.batch(500);
  ASSERT_TRUE(frames->write(batch, program.tables()));
  ring.trim(program.tables());
  auto file = *trace::TraceWriter::create(path, true);
  ASSERT_TRUE(ring.begin({.capture = capture, .marks = {}}, program.tables(), std::move(file)));
  ASSERT_TRUE(ring.complete());
  auto reader = trace::TraceReader::open(path);
  State state;
  ASSERT_TRUE(reader->replay(state));
  EXPECT_EQ(reader->capture().event_count, batch.events.size());
  EXPECT_EQ(reader->capture().gaps & model::kGapDroppedPast, 0u);
  std::filesystem::remove(path);
}

TEST(LiveRule, IsMetWhenItBeginsToHold) {
  auto live = LiveRule::parse("live > 2K");
  ASSERT_TRUE(live);
  EXPECT_FALSE(live->is_met_first(0, 2048));
  EXPECT_TRUE(live->is_met_first(1, 2049));
  EXPECT_FALSE(live->is_met_first(2, 5000)) << "it holds already";
  EXPECT_FALSE(live->is_met_first(3, 100));
  EXPECT_TRUE(live->is_met_first(4, 3000)) << "again";
}

TEST(LiveRule, OfGrowthIsOverAWholePeriod) {
  constexpr uint64_t kSecond = 1'000'000'000;
  auto growth = LiveRule::parse(" growth>1K / min ");
  ASSERT_TRUE(growth) << growth.error().message;
  EXPECT_FALSE(growth->is_met_first(0, 0));
  EXPECT_FALSE(growth->is_met_first(30 * kSecond, 5000)) << "too early to tell";
  EXPECT_TRUE(growth->is_met_first(60 * kSecond, 5000));
  EXPECT_FALSE(growth->is_met_first(120 * kSecond, 5001));
  EXPECT_TRUE(growth->is_met_first(180 * kSecond, 7000));
}

TEST(LiveRule, ThatCantBeReadSaysWhy) {
  for (const char* text : {"", "live", "live > ", "live > 2G/min", "growth > 2G", "growth > 1M/0s", "growth > 1M/x",
                           "dead > 1", "live > x", "live < 2G"}) {
    const auto rule = LiveRule::parse(text);
    ASSERT_FALSE(rule) << text;
    EXPECT_NE(rule.error().message.find("write 'live > 2G'"), std::string::npos) << rule.error().message;
  }
  for (const char* text : {"live > 2G", "live>1", "growth > 10M/min", "growth > 1K/30s", "growth > 1G/h"}) {
    EXPECT_TRUE(LiveRule::parse(text)) << text;
  }
}

}  // namespace
}  // namespace heaptap::ring
