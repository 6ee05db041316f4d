// Roots of programs of other word lengths and C libraries: each runs the fixture held_blocks, whose blocks must be found held
// where they are, and lost where they are.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>

#include "capture/process/process_memory.h"
#include "capture/scan/root_finder.h"
#include "child_process.h"
#include "kernel_facts.h"

namespace heaptap::scan {
namespace {

using test::ChildProcess;
using wire::RootKind;
using Kinds = std::set<RootKind>;

// As in the fixture.
enum Place : unsigned {
  kGlobal,
  kThreadLocal,
  kMapping,
  kThreadsStack,
  kThreadsThreadLocal,
  kSpecific,
  kResultOfEndedThread,
  kInLargeBlock,
  kLeak,
  kLeakOfThread,
  kInFreedBlock,
  kInFreedBlockOfThread,
  kInEndedThread,
  kLargeBlock,
  kAboveEndedThread,
  kPlaces
};
constexpr uint64_t kBlockBytes = 200;
constexpr uint64_t kLargeBytes = 1 << 20;

class HeldBlocks : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string program = std::string(HEAPTAP_FIXTURES) + "/held_blocks_" + GetParam();
    if (!std::filesystem::exists(program)) GTEST_SKIP() << "this machine can't build " << program;
    if (test::is_beyond_kernel(program)) HEAPTAP_SKIP_32_BITS();
    child_.emplace([&](int out) {
      dup2(out, 1);
      execl(program.c_str(), program.c_str(), nullptr);
    });
    ASSERT_TRUE(child_->receive(hidden_));
    test::wait_for_state(child_->id(), "S");
    for (unsigned i = 0; i < kPlaces; ++i) {
      heap_.push_back({at(i), at(i) + (i == kLargeBlock ? kLargeBytes : kBlockBytes)});
    }
    std::ranges::sort(heap_, {}, &base::AddressRange::begin);
    stopped_.emplace(process::StoppedProcess::stop(child_->id()).value());
    memory_.emplace(stopped_->live_thread(), stopped_->word_bytes());
    RootQuery query{};
    query.heap = heap_;
    roots_ = find_roots(*stopped_, *memory_, query);
  }

  [[nodiscard]] uint64_t at(unsigned place) const { return ~hidden_[place]; }

  Kinds holders_of(unsigned place) {
    Kinds kinds;
    for (const wire::RootWord& word : roots_.words) {
      if (word.value == at(place)) kinds.insert(word.kind);
    }
    for (const wire::RootRange& range : roots_.ranges) {
      for (const base::AddressRange& part : memory_->touched_ranges(range.begin, range.end)) {
        const auto words = memory_->words({std::max(part.begin, range.begin), std::min(part.end, range.end)});
        if (std::ranges::find(words, at(place)) != words.end()) kinds.insert(range.kind);
      }
    }
    return kinds;
  }

  std::optional<ChildProcess> child_;
  std::array<uint64_t, kPlaces> hidden_{};
  std::vector<base::AddressRange> heap_;
  std::optional<process::StoppedProcess> stopped_;
  std::optional<process::ProcessMemory> memory_;
  Roots roots_;
};

TEST_P(HeldBlocks, AreHeldWhereTheyAre) {
  EXPECT_EQ(holders_of(kGlobal), Kinds{RootKind::kGlobal});
  EXPECT_EQ(holders_of(kThreadLocal), Kinds{RootKind::kThreadLocal});
  EXPECT_EQ(holders_of(kMapping), Kinds{RootKind::kMapping});
  EXPECT_EQ(holders_of(kThreadsStack), Kinds{RootKind::kStack});
  EXPECT_EQ(holders_of(kThreadsThreadLocal), Kinds{RootKind::kThreadLocal});
  EXPECT_EQ(holders_of(kSpecific), Kinds{RootKind::kThreadLocal});
  EXPECT_EQ(holders_of(kResultOfEndedThread), Kinds{RootKind::kThreadLocal});
  EXPECT_EQ(holders_of(kLargeBlock), Kinds{RootKind::kGlobal});
  EXPECT_EQ(holders_of(kAboveEndedThread), Kinds{RootKind::kMapping});
}

TEST_P(HeldBlocks, AreLostWhereNothingHoldsThem) {
  for (const Place place :
       {kInLargeBlock, kLeak, kLeakOfThread, kInFreedBlock, kInFreedBlockOfThread, kInEndedThread}) {
    EXPECT_EQ(holders_of(place), Kinds{}) << place;
  }
}

TEST_P(HeldBlocks, StacksLeadToMain) {
  // musl has no tables for its system calls' code, static programs have no index of theirs.
  if (!std::string_view(GetParam()).starts_with("dynamic")) GTEST_SKIP();
  const auto main_thread = static_cast<uint32_t>(child_->id());
  EXPECT_GE(std::ranges::count(roots_.frames, main_thread, &wire::StackFrame::thread_id), 4);
}

TEST_P(HeldBlocks, NothingIsNoted) { EXPECT_EQ(roots_.notes, std::vector<model::Note>{}); }

INSTANTIATE_TEST_SUITE_P(Programs, HeldBlocks,
                         testing::Values("dynamic64", "static64", "dynamic32", "static32", "musl", "musl_static"),
                         [](const auto& variant) { return std::string(variant.param); });

}  // namespace
}  // namespace heaptap::scan
