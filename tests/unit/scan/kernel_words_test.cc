// What the kernel says it keeps for a process: read from its texts, and from a living process.
#include "capture/scan/kernel_words.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>

namespace heaptap::scan {
namespace {

using Words = std::vector<uint64_t>;

TEST(KernelWords, AreReadFromEpoll) {
  Words words;
  parse_epoll_words(
      "pos:\t0\nflags:\t02\nmnt_id:\t16\nino:\t15\n"
      "tfd:        5 events:       19 data:     55d1c2a0b2a0  pos:0 ino:f sdev:e\n"
      "tfd:        6 events: 80000019 data: ffff00000000fff0  pos:0 ino:f sdev:e\n"
      "tfd:        7 events:       19 data:                7  pos:0 ino:f sdev:e\n",
      words);
  EXPECT_EQ(words, (Words{0x55d1c2a0b2a0, 0xffff00000000fff0}));
}

TEST(KernelWords, AreReadFromTimers) {
  Words words;
  parse_timer_words(
      "ID: 0\nsignal: 10/000055d1c2a0b2a0\nnotify: signal/pid.10\nClockID: 1\nID: 1\nsignal: 14/0000000000000001\n",
      words);
  EXPECT_EQ(words, Words{0x55d1c2a0b2a0});
}

TEST(KernelWords, OfNonsenseAreNone) {
  Words words;
  for (const char* text :
       {"", "tfd:", "tfd: data:", "tfd: data: \n", "tfd: data: xyz\n", "signal:", "signal: 1/\n", "\n\n"}) {
    parse_epoll_words(text, words);
    parse_timer_words(text, words);
  }
  parse_epoll_words("tfd: 1 data: 123456789012345678901234567890\n", words);
  EXPECT_TRUE(words.empty());
}

TEST(KernelWords, OfAProcessAreFound) {
  const int instance = epoll_create1(EPOLL_CLOEXEC);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &event;
  ASSERT_EQ(epoll_ctl(instance, EPOLL_CTL_ADD, ends[0], &event), 0);
  const auto address = reinterpret_cast<uint64_t>(&event);
  EXPECT_EQ(std::ranges::count(find_kernel_words(getpid()), address), 1);
  for (const int descriptor : {instance, ends[0], ends[1]}) close(descriptor);
  EXPECT_EQ(std::ranges::count(find_kernel_words(getpid()), address), 0);
}

}  // namespace
}  // namespace heaptap::scan
