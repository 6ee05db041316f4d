// The agent's labels: each name under a parent once, found by its bytes, whatever lies behind them.
#include "agent/core/labels.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "agent/core/session.h"
#include "at_once.h"
#include "capture/log/log_memory.h"

namespace heaptap::agent {
namespace {

using wire::LabelKind;

log::LogOptions options_of_a_small_log() {
  log::LogOptions options;
  options.chunk_memory_bytes = 1u << 20;
  return options;
}

class LabelsTest : public ::testing::Test {
 protected:
  LabelsTest() { labels_->start(&memory_->header(), memory_->header()); }
  const Label* tag(const Label* parent, const char* name) {
    return labels_->find_or_add(parent, LabelKind::kTag, name);
  }
  [[nodiscard]] const wire::LabelEntry& entry(uint32_t number) const { return memory_->parts().labels[number]; }

  std::unique_ptr<log::LogMemory> memory_ = *log::LogMemory::create(options_of_a_small_log());
  std::unique_ptr<Labels> labels_ = std::make_unique<Labels>();
};

TEST_F(LabelsTest, EachNameUnderAParentOnce) {
  const Label* const request = tag(nullptr, "request");
  ASSERT_NE(request, nullptr);
  const std::string copy = "request";
  EXPECT_EQ(tag(nullptr, copy.c_str()), request);
  const Label* const parse = tag(request, "parse");
  EXPECT_NE(parse, tag(nullptr, "parse"));
  EXPECT_EQ(parse->parent, request);
  EXPECT_NE(labels_->find_or_add(nullptr, LabelKind::kPool, "request"), request);
  EXPECT_NE(tag(nullptr, "reques"), request);
  EXPECT_NE(tag(nullptr, "requests"), request);
  EXPECT_EQ(std::string(entry(request->number).name, entry(request->number).name_bytes), "request");
  EXPECT_EQ(entry(parse->number).parent, request->number);
  EXPECT_EQ(labels_->of_number(parse->number), parse);
}

// A buffer that is used again for another name.
TEST_F(LabelsTest, NamesAreBytesNotAddresses) {
  char name[] = "one";
  const Label* const one = tag(nullptr, name);
  std::strcpy(name, "two");
  const Label* const two = tag(nullptr, name);
  EXPECT_NE(one, two);
  EXPECT_STREQ(one->name, "one");
  EXPECT_STREQ(two->name, "two");
}

// Nothing behind the end of a name is touched: it may be the last of its page.
TEST_F(LabelsTest, ANameMayEndWhereMemoryDoes) {
  constexpr size_t kPage = 4096;
  auto* const pages =
      static_cast<char*>(mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages + kPage, kPage, PROT_NONE), 0);
  for (size_t length = 0; length < 130; ++length) {
    char* const name = pages + kPage - 1 - length;
    std::memset(name, 'a', length);
    name[length] = '\0';
    const Label* const first = tag(nullptr, name);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(tag(nullptr, name), first);
    EXPECT_EQ(first->name_bytes, std::min<size_t>(length, wire::kMaxLabelBytes));
    const std::string elsewhere(name);
    EXPECT_EQ(tag(nullptr, elsewhere.c_str()), first) << length;
  }
  munmap(pages, 2 * kPage);
}

TEST_F(LabelsTest, LongNamesAreCut) {
  const std::string name(1 << 20, 'n');
  const Label* const cut = tag(nullptr, name.c_str());
  EXPECT_EQ(cut->name_bytes, wire::kMaxLabelBytes);
  EXPECT_EQ(tag(nullptr, name.substr(0, wire::kMaxLabelBytes).c_str()), cut);
  EXPECT_NE(tag(nullptr, name.substr(0, wire::kMaxLabelBytes - 1).c_str()), cut);
}

TEST_F(LabelsTest, WhatThereIsNoRoomForIsCounted) {
  const Label* deepest = nullptr;
  uint32_t depth = 0;
  for (const Label* next = tag(nullptr, "x"); next != nullptr; next = tag(next, "x")) {
    deepest = next;
    ++depth;
  }
  EXPECT_EQ(depth, wire::kMaxLabelDepth);
  EXPECT_EQ(deepest->depth, wire::kMaxLabelDepth);
  EXPECT_EQ(memory_->header().unkept_labels.load(), 1u);
  uint32_t kept = depth;
  for (uint32_t i = 0; i < 10'000; ++i) kept += tag(nullptr, ("tag " + std::to_string(i)).c_str()) != nullptr ? 1 : 0;
  EXPECT_EQ(kept, memory_->header().label_capacity - 1);
  EXPECT_EQ(memory_->header().unkept_labels.load(), 1u + 10'000 + depth - kept);
  EXPECT_EQ(memory_->header().label_count.load(), memory_->header().label_capacity);
}

TEST_F(LabelsTest, AnotherLogGetsThemAll) {
  const Label* const request = tag(nullptr, "request");
  const Label* const parse = tag(request, "parse");
  const auto second = *log::LogMemory::create(options_of_a_small_log());
  labels_->start(&second->header(), second->header());
  const auto& labels = second->parts().labels;
  EXPECT_EQ(labels[request->number].is_whole.load(), 1u);
  EXPECT_EQ(labels[parse->number].parent, request->number);
  EXPECT_EQ(std::string(labels[parse->number].name, labels[parse->number].name_bytes), "parse");
}

// Two that come at once may make a name twice, and no more often; all are whole.
TEST_F(LabelsTest, ThreadsFindEachOthersNames) {
  constexpr uint32_t kThreads = 4;
  constexpr uint32_t kNames = 300;
  std::atomic<uint32_t> wrong{0};
  test::run_at_once(kThreads, [&](uint32_t) {
    for (uint32_t i = 0; i < 40 * kNames; ++i) {
      const std::string name = "name " + std::to_string(i % kNames);
      const Label* const label = tag(nullptr, name.c_str());
      if (label == nullptr || name != label->name) ++wrong;
    }
  });
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_LE(memory_->header().label_count.load(), kThreads * kNames + 1);
  for (uint32_t number = 1; number < memory_->header().label_count.load(); ++number) {
    EXPECT_EQ(entry(number).is_whole.load(), 1u);
  }
}

}  // namespace
}  // namespace heaptap::agent
