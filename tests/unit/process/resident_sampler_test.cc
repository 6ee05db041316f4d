#include "capture/process/resident_sampler.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace heaptap::process {
namespace {

constexpr uint64_t kKib = 1024;
constexpr uint64_t kMib = uint64_t{1} << 20;

const std::string kStatus =
    "Name:\tcat\\nRssAnon:\t7 kB\nUmask:\t0022\nState:\tR (running)\nVmHWM:\t    1500 kB\nVmRSS:\t    1000 kB\n"
    "RssAnon:\t     700 kB\nRssFile:\t     200 kB\nRssShmem:\t     100 kB\nVmData:\t     300 kB\n"
    "VmSwap:\t       0 kB\nThreads:\t1\n";

std::string with(const std::string& before, const std::string& after) {
  std::string text = kStatus;
  const size_t at = text.find(before);
  EXPECT_NE(at, text.npos) << before;
  return text.replace(at, before.size(), after);
}

TEST(ResidentText, AmountsAreRead) {
  const auto sample = read_resident(kStatus);
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->anonymous_bytes, 700 * kKib);
  EXPECT_EQ(sample->file_bytes, 200 * kKib);
  EXPECT_EQ(sample->shared_bytes, 100 * kKib);
  EXPECT_EQ(sample->resident_bytes(), 1000 * kKib);
  EXPECT_EQ(sample->swapped_bytes, 0U);
  EXPECT_EQ(sample->peak_bytes, 1500 * kKib);
  EXPECT_EQ(sample->log_bytes, std::nullopt);
}

TEST(ResidentText, WithoutAllAmountsThereIsNoSample) {
  EXPECT_FALSE(read_resident(""));
  EXPECT_FALSE(read_resident("Name:\tcat\nState:\tZ (zombie)\nThreads:\t1\n"));
  for (const char* line : {"RssAnon:\t     700 kB\n", "RssFile:\t     200 kB\n", "RssShmem:\t     100 kB\n"}) {
    EXPECT_FALSE(read_resident(with(std::string("\n") + line, "\n"))) << line;
  }
}

TEST(ResidentText, WhatElseIsMissingIsUnknown) {
  EXPECT_EQ(read_resident(with("VmSwap:\t       0 kB\n", ""))->swapped_bytes, std::nullopt);
  EXPECT_EQ(read_resident(with("VmHWM:\t    1500 kB\n", ""))->peak_bytes, std::nullopt);
}

TEST(ResidentText, ImpossibleNumbersAreNone) {
  for (const char* number : {"", "-1", "x", "700", "700 MB", "99999999999999999999", "18446744073709551615",
                             "1125899906842624" /* KiB of the maximum */}) {
    const std::string unit = std::string(number) == "700" ? "" : " kB";
    EXPECT_FALSE(read_resident(with("     700 kB", number + unit))) << number;
    EXPECT_EQ(read_resident(with("    1500 kB", number + unit))->peak_bytes, std::nullopt) << number;
  }
  EXPECT_EQ(read_resident(with("     700 kB", "1125899906842623 kB"))->anonymous_bytes,
            model::kMaxResidentBytes - kKib);
  EXPECT_FALSE(read_resident("\nRssAnon:\t1 kB\nRssFile:\t2 kB\nRssShmem:\t3"));
}

TEST(ResidentRhythm, IntervalsDouble) {
  EXPECT_EQ(ResidentRhythm::interval_ns(0), 20'000'000U);
  EXPECT_EQ(ResidentRhythm::interval_ns(511), 20'000'000U);
  EXPECT_EQ(ResidentRhythm::interval_ns(512), 40'000'000U);
  EXPECT_EQ(ResidentRhythm::interval_ns(1024), 80'000'000U);
  EXPECT_EQ(ResidentRhythm::interval_ns(UINT64_MAX), ResidentRhythm::kFirstNs << 32);
}

TEST(ResidentRhythm, ADayTakesFewSamples) {
  constexpr uint64_t kDayNs = uint64_t{86'400} * 1'000'000'000;
  uint64_t samples = 0;
  for (uint64_t now = 0; now < kDayNs; now += ResidentRhythm::interval_ns(samples++)) {
  }
  EXPECT_LT(samples, 7'000U);
}

TEST(ResidentSampler, SeesMemoryThatIsTouched) {
  ResidentSampler sampler(getpid());
  const auto before = sampler.take(1);
  ASSERT_TRUE(before);
  EXPECT_GT(before->resident_bytes(), 0U);
  EXPECT_LE(before->resident_bytes(), before->peak_bytes);
  constexpr size_t kBytes = 64 * kMib;
  void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const auto reserved = sampler.take(2);
  std::memset(memory, 1, kBytes);
  const auto touched = sampler.take(3);
  munmap(memory, kBytes);
  const auto after = sampler.take(4);
  ASSERT_TRUE(reserved && touched && after);
  EXPECT_LT(reserved->anonymous_bytes, before->anonymous_bytes + 8 * kMib);
  EXPECT_GT(touched->anonymous_bytes, before->anonymous_bytes + 56 * kMib);
  EXPECT_LT(after->anonymous_bytes, before->anonymous_bytes + 8 * kMib);
  EXPECT_GT(after->peak_bytes, before->peak_bytes);
}

TEST(ResidentSampler, IsDueByItsRhythm) {
  ResidentSampler sampler(getpid());
  EXPECT_TRUE(sampler.is_due(0));
  (void)sampler.take(1000);
  EXPECT_FALSE(sampler.is_due(1000));
  EXPECT_FALSE(sampler.is_due(1000 + ResidentRhythm::kFirstNs - 1));
  EXPECT_TRUE(sampler.is_due(1000 + ResidentRhythm::kFirstNs));
}

TEST(ResidentSampler, OfAProcessThatIsGoneHasNone) {
  int wait_for_end[2];
  ASSERT_EQ(pipe(wait_for_end), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte = 0;
    close(wait_for_end[1]);
    _exit(read(wait_for_end[0], &byte, 1) < 0 ? 1 : 0);
  }
  ResidentSampler sampler(child);
  EXPECT_TRUE(sampler.take(1));
  close(wait_for_end[1]);
  siginfo_t ended{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(sampler.take(2));  // a zombie
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  close(wait_for_end[0]);
  EXPECT_FALSE(sampler.take(3));
  ResidentSampler later(child);
  EXPECT_FALSE(later.take(1));
}

TEST(ResidentSampler, OfAnotherProgramHasNone) {
  int started[2];
  int wait_for_end[2];
  int executed[2];
  ASSERT_TRUE(pipe(started) == 0 && pipe(wait_for_end) == 0 && pipe(executed) == 0);
  const pid_t child = fork();
  if (child == 0) {
    std::string large(32 * kMib, 'x');
    std::ranges::fill(large, 'y');
    char byte = large[kMib];
    if (write(started[1], &byte, 1) != 1 || read(wait_for_end[0], &byte, 1) != 1) _exit(1);
    close(wait_for_end[1]);
    dup2(wait_for_end[0], STDIN_FILENO);
    dup2(executed[1], STDOUT_FILENO);
    execl("/bin/sh", "sh", "-c", "echo; read line", nullptr);
    _exit(1);
  }
  char byte = 0;
  ASSERT_EQ(read(started[0], &byte, 1), 1);
  ResidentSampler sampler(child);
  EXPECT_TRUE(sampler.take(1));
  ASSERT_EQ(write(wait_for_end[1], &byte, 1), 1);
  ASSERT_EQ(read(executed[0], &byte, 1), 1);
  EXPECT_FALSE(sampler.take(2));
  for (const int each : {started[0], started[1], wait_for_end[0], wait_for_end[1], executed[0], executed[1]})
    close(each);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

}  // namespace
}  // namespace heaptap::process
