// The log's tables of areas: what several threads tell of memory, as the collector reads it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "agent/core/kernel.h"
#include "agent/core/session.h"
#include "at_once.h"
#include "capture/log/area_reader.h"
#include "capture/log/log_memory.h"
#include "common/wire/stack_areas.h"
#include "core_platform.h"

namespace heaptap {
namespace {

constexpr uint32_t kThreads = 4;

// A stack all of whose fields follow from where it begins.
wire::StackArea area_at(uint64_t begin) {
  return {.begin = begin,
          .end = begin + 0x1000,
          .context = ~begin,
          .thread_id = static_cast<uint32_t>(begin >> 12),
          .kind = wire::RootKind::kContextStack};
}
bool is_whole(const wire::StackArea& area) {
  const wire::StackArea expected = area_at(area.begin);
  return area.end == expected.end && area.context == expected.context && area.thread_id == expected.thread_id &&
         area.kind == expected.kind;
}
uint64_t stack_of(uint32_t thread, uint32_t number) { return (uint64_t{thread + 1} << 32) + uint64_t{number} * 0x4000; }

class StackAreasTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(memory_, nullptr); }
  std::vector<wire::StackArea> read() const {
    std::vector<wire::StackArea> areas = log::read_stack_areas(memory_->parts());
    for (const wire::StackArea& area : areas) EXPECT_TRUE(is_whole(area));
    return areas;
  }
  [[nodiscard]] std::set<uint64_t> begins() const {
    std::set<uint64_t> found;
    for (const wire::StackArea& area : read()) {
      EXPECT_TRUE(found.insert(area.begin).second) << "twice";
    }
    return found;
  }
  [[nodiscard]] uint32_t overflow() const { return memory_->header().stack_area_overflow.load(); }

  std::unique_ptr<log::LogMemory> memory_ = *log::LogMemory::create({});
  wire::StackAreaTable table_{memory_->header(), memory_->header()};
};

TEST_F(StackAreasTest, NoneIsLostWhereSeveralThreadsNoteThem) {
  constexpr uint32_t kEach = 100;
  test::run_at_once(kThreads, [this](uint32_t thread) {
    for (uint32_t i = 0; i < kEach; ++i) table_.note(area_at(stack_of(thread, i)));
  });
  EXPECT_EQ(overflow(), 0u);
  EXPECT_EQ(begins().size(), size_t{kThreads} * kEach);
}

// A table of so few entries that all threads go for the same ones.
class CrowdedStackAreasTest : public StackAreasTest {
 protected:
  static constexpr uint32_t kEntries = 2 * kThreads;

  static wire::LogLayout with_few_areas(const wire::LogLayout& given) {
    wire::LogLayout layout = given;
    layout.stack_area_capacity = kEntries;
    return layout;
  }
  [[nodiscard]] bool has(uint64_t begin) const {
    uint32_t found = 0;
    for (const wire::StackAreaEntry& entry : memory_->parts().stack_areas.first(kEntries)) {
      wire::StackArea area;
      if (!wire::read_entry(entry, area) || area.begin == 0) continue;
      if (!is_whole(area)) return false;
      found += area.begin == begin ? 1 : 0;
    }
    return found == 1;
  }

  wire::StackAreaTable crowded_{memory_->header(), with_few_areas(memory_->header())};
};

TEST_F(CrowdedStackAreasTest, WhatAThreadNotedIsThereUntilItForgetsIt) {
  std::atomic<uint32_t> missing{0};
  test::run_at_once(kThreads, [&](uint32_t thread) {
    for (uint32_t i = 0; i < 100'000; ++i) {
      const uint64_t begin = stack_of(thread, i);
      crowded_.note(area_at(begin));
      if (!has(begin)) ++missing;
      if (i % 2 == 0) crowded_.note(area_at(begin));  // once more
      crowded_.forget(begin);
    }
  });
  EXPECT_EQ(missing.load(), 0u);
  EXPECT_EQ(overflow(), 0u);
  EXPECT_TRUE(begins().empty());
}

TEST_F(StackAreasTest, TheNewestOfTooManyTakesTheOldOnesPlace) {
  for (uint32_t i = 0; i < 20'000; ++i) table_.note(area_at(stack_of(0, i)));
  const uint64_t newest = stack_of(1, 0);
  table_.note(area_at(newest));
  EXPECT_GT(overflow(), 0u);
  EXPECT_TRUE(begins().contains(newest));
}

// What the agent maps for itself, told to the collector as it is mapped (kernel.h).
TEST(OwnAreas, AreThoseThatAreMapped) {
  const auto memory = *log::LogMemory::create({});
  ASSERT_NE(memory, nullptr);
  const test::KeptSession before;
  agent::g_session.layout.log = static_cast<const wire::LogLayout&>(memory->header());
  agent::g_session.log = &memory->header();
  constexpr uint32_t kEach = 200;
  std::vector<std::set<uint64_t>> kept(kThreads);
  test::run_at_once(kThreads, [&](uint32_t thread) {
    for (uint32_t i = 0; i < kEach; ++i) {
      void* const start = agent::kernel::map_memory(4096);
      if (i % 3 == 0) {
        kept[thread].insert(reinterpret_cast<uint64_t>(start));
      } else {
        agent::kernel::unmap(start, 4096);
      }
    }
  });
  std::set<uint64_t> expected;
  for (const auto& own : kept) expected.insert(own.begin(), own.end());
  std::set<uint64_t> noted;
  for (const base::AddressRange& area : log::read_own_areas(memory->parts())) {
    EXPECT_EQ(area.end - area.begin, 4096u);
    EXPECT_TRUE(noted.insert(area.begin).second);
  }
  EXPECT_EQ(noted, expected);
}

}  // namespace
}  // namespace heaptap
