#include "capture/inject/thread_verdict.h"

#include <gtest/gtest.h>

#include <vector>

namespace heaptap::inject {
namespace {

using Kind = ThreadPlace::Kind;
const std::vector<base::AddressRange> kInner{{0x1001, 0x1006}, {0x2001, 0x2007}};

ThreadPlace in_call(int64_t number, uint64_t program_counter = 0x9000) {
  ThreadPlace place{.kind = Kind::kInCall, .call = number};
  place.program_counter = program_counter;
  return place;
}

TEST(ThreadPlace, IsReadFromTheKernelsLine) {
  const ThreadPlace place = parse_thread_place("7 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffc10 0x7f1234\n");
  EXPECT_EQ(place.kind, Kind::kInCall);
  EXPECT_EQ(place.call, 7);
  EXPECT_EQ(place.arguments[3], 4u);
  EXPECT_EQ(place.stack_pointer, 0x7ffc10u);
  EXPECT_EQ(place.program_counter, 0x7f1234u);
  EXPECT_EQ(parse_thread_place("running\n").kind, Kind::kRunning);
  const ThreadPlace elsewhere = parse_thread_place("-1 0x7ffc10 0x7f1234\n");
  EXPECT_EQ(elsewhere.kind, Kind::kInKernel);
  EXPECT_EQ(elsewhere.program_counter, 0x7f1234u);
}

TEST(ThreadPlace, IsGoneWhereTheLineSaysNothing) {
  for (const char* text : {"", "\n", "7", "7 0x1 0x2", "7 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffc10", "x 0x1 0x2", "-1 0x7"})
    EXPECT_EQ(parse_thread_place(text).kind, Kind::kGone) << text;
}

#ifdef __x86_64__
TEST(ThreadVerdict, LeavesThreadsThatWaitInCallsAlone) {
  for (const int64_t call : {0, 7, 35, 202, 230, 232})
    EXPECT_EQ(judge_running(in_call(call), kInner), Verdict::kSafe) << call;
}

TEST(ThreadVerdict, StopsThreadsThatMayMakeOthers) {
  for (const int64_t call : {56, 57, 58, 435}) EXPECT_EQ(judge_running(in_call(call), kInner), Verdict::kStop) << call;
}

TEST(Offerer, IsAChildWhereTheThreadWaitsForOne) {
  for (const int64_t call : {56, 57, 58, 435}) EXPECT_EQ(offerer_at(in_call(call)), Offerer::kChild) << call;
  EXPECT_EQ(offerer_at({}), Offerer::kChild) << "no thread has the number";
}

TEST(Offerer, IsTheThreadOnlyWhereItRuns) {
  EXPECT_EQ(offerer_at({.kind = Kind::kRunning}), Offerer::kThread);
  for (const int64_t call : {0, 7, 35, 202, 231}) EXPECT_EQ(offerer_at(in_call(call)), Offerer::kUnknown) << call;
  EXPECT_EQ(offerer_at({.kind = Kind::kInKernel, .program_counter = 0x9000}), Offerer::kUnknown);
}
#endif

TEST(ThreadVerdict, StopsThreadsThatRunOrWhoseCallIsUnknown) {
  EXPECT_EQ(judge_running({.kind = Kind::kRunning}, kInner), Verdict::kStop);
  EXPECT_EQ(judge_running({.kind = Kind::kInKernel, .program_counter = 0x9000}, kInner), Verdict::kStop);
  EXPECT_EQ(judge_running({}, kInner), Verdict::kGone);
}

TEST(ThreadVerdict, StopsThreadsWithinTheReplacedCode) {
  EXPECT_EQ(judge_running(in_call(0, 0x1003), kInner), Verdict::kStop);
  for (uint64_t at = 0x0ffe; at < 0x1009; ++at) EXPECT_EQ(is_outside(at, kInner), at < 0x1001 || at >= 0x1006) << at;
}

TEST(HasInterrupted, FindsTheContextOfASignalHandler) {
  constexpr uint64_t kFlags = 0x246;
  constexpr uint64_t kSegments = 0x002b000000000033;
  for (size_t at = 0; at < 8; ++at) {
    std::vector<uint64_t> stack(10, 0x1003);  // return addresses that are left over, as it were
    EXPECT_FALSE(has_interrupted(stack, kInner));
    stack[at + 1] = kFlags;
    EXPECT_FALSE(has_interrupted(stack, kInner));
    stack[at + 2] = kSegments;
    EXPECT_TRUE(has_interrupted(stack, kInner)) << at;
    stack[at] = 0x1001 - 1;
    EXPECT_FALSE(has_interrupted(stack, kInner)) << at;
  }
  EXPECT_FALSE(has_interrupted(std::vector<uint64_t>{0x1003, kFlags}, kInner));
}

TEST(FitnessForCalls, PrefersThreadsThatAreDisturbedLeast) {
  const auto waiting = [](int64_t call, int64_t timeout = 0) {
    ThreadPlace place = in_call(call);
    place.arguments[3] = static_cast<uint64_t>(timeout);
    return fitness_for_calls(place);
  };
  EXPECT_GT(fitness_for_calls({.kind = Kind::kRunning}), waiting(202));
  EXPECT_GT(waiting(202), waiting(232, -1));
  EXPECT_EQ(waiting(219), waiting(230));  // a wait that was interrupted before
  EXPECT_EQ(waiting(281, 0xffffffff), waiting(232, -1));
  EXPECT_GT(waiting(232, -1), 0u);
  EXPECT_EQ(waiting(232, 1000), 0u);  // its timeout would begin anew
  for (const int64_t call : {0, 23, 43, 45, 47, 65, 128, 208, 220, 270, 271, 288, 426})
    EXPECT_EQ(waiting(call), 0u) << call;
  EXPECT_EQ(fitness_for_calls({.kind = Kind::kInKernel}), 0u);
  EXPECT_EQ(fitness_for_calls({}), 0u);
}

TEST(FitnessForCalls, OfReadsIsThatOfTheirFiles) {
  for (const char* file : {"pipe:[123]", "/dev/pts/3", "/dev/tty1", "anon_inode:[eventfd]", "anon_inode:[timerfd]",
                           "anon_inode:[signalfd]"})
    EXPECT_GT(fitness_for_calls(in_call(0), {.file = file}), 0u) << file;
  for (const char* file : {"socket:[123]", "anon_inode:inotify", "anon_inode:[userfaultfd]", "", "/dev/uinput"})
    EXPECT_EQ(fitness_for_calls(in_call(0), {.file = file}), 0u) << file;
  constexpr size_t kFlagsOfRecvfrom = 3;
  constexpr size_t kFlagsOfRecvmsg = 2;
  for (const int64_t call : {0, 43, 45, 47, 288}) {
    for (const bool may_end_early : {false, true}) {
      EXPECT_EQ(fitness_for_calls(in_call(call), {.file = "socket:[1]", .may_end_early = may_end_early}),
                may_end_early ? 0u : 2u)
          << call;
      if (call == 0) continue;
      EXPECT_EQ(fitness_for_calls(in_call(call), {.file = "pipe:[1]", .may_end_early = may_end_early}), 0u) << call;
    }
    ThreadPlace waits_for_all = in_call(call);
    if (call == 45) waits_for_all.arguments[kFlagsOfRecvfrom] = 0x100;
    if (call == 47) waits_for_all.arguments[kFlagsOfRecvmsg] = 0x100;
    const bool is_waiting = call == 45 || call == 47;
    EXPECT_EQ(fitness_for_calls(waits_for_all, {.file = "socket:[1]", .may_end_early = false}), is_waiting ? 0u : 2u)
        << call;
  }
}

TEST(FitnessForCalls, OfSelectAndItsRelativesNeedsWhatIsLeftOfTheTimeout) {
  for (const int64_t call : {23, 270, 271}) {
    for (const bool keeps_timeout : {false, true}) {
      for (const bool has_mask : {false, true}) {
        const unsigned fitness =
            fitness_for_calls(in_call(call), {.keeps_timeout = keeps_timeout, .has_mask = has_mask});
        EXPECT_EQ(fitness, keeps_timeout && !has_mask ? 2u : 0u) << call;
      }
    }
  }
  EXPECT_FALSE(wait_arguments(7));
}

}  // namespace
}  // namespace heaptap::inject
