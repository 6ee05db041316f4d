// Lines of /proc/PID/maps.
#include "capture/process/memory_map.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace heaptap::process {
namespace {

// glibc.mem.decorate_maps=1 gives its memory names, where the kernel has CONFIG_ANON_VMA_NAME.
TEST(MemoryMap, PrivateMemoryWithoutAFileIsAnonymousWhateverItsName) {
  struct Case {
    const char* line;
    bool is_anonymous;
  };
  constexpr std::array kCases{
      Case{"7f0000000000-7f0000021000 rw-p 00000000 00:00 0 ", true},
      Case{"7f0000000000-7f0000021000 rw-p 00000000 00:00 0                          [anon: glibc: malloc arena]",
           true},
      Case{"7f0000000000-7f0000021000 rw-p 00000000 00:00 0                          [anon:.bss]", true},
      Case{"7f0000000000-7f0000021000 rw-s 00000000 00:01 1027                       [anon_shmem:cache]", false},
      Case{"7f0000000000-7f0000021000 rw-p 00000000 00:00 0                          [heap]", false},
      Case{"7f0000000000-7f0000021000 rw-p 00000000 00:00 0                          [stack]", false},
      Case{"7f0000000000-7f0000021000 r--p 00000000 00:00 0                          [vvar]", false},
      Case{"7f0000000000-7f0000021000 rw-p 00000000 08:01 1310                       [anon: glibc: malloc arena]",
           false},
      Case{"7f0000000000-7f0000021000 rw-p 00000000 08:01 1310                       /tmp/file", false},
  };
  for (const auto& [line, is_anonymous] : kCases) {
    const auto map = parse_memory_map(std::string(line) + "\n");
    ASSERT_EQ(map.size(), 1U) << line;
    EXPECT_EQ(map[0].is_anonymous(), is_anonymous) << line;
  }
}

}  // namespace
}  // namespace heaptap::process
