// Downloads in the background: what they do where they can't be made.
#include "analysis/symbols/downloads.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <system_error>
#include <thread>

namespace heaptap::symbols {
namespace {

// Threads can't be made: their stacks would be larger than an address space.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    EXPECT_EQ(pthread_getattr_default_np(&before_), 0);
    pthread_attr_t huge{};
    EXPECT_EQ(pthread_attr_init(&huge), 0);
    EXPECT_EQ(pthread_attr_setstacksize(&huge, size_t{1} << 50), 0);
    EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
  }
  NoMoreThreads(const NoMoreThreads&) = delete;
  NoMoreThreads& operator=(const NoMoreThreads&) = delete;
  ~NoMoreThreads() { EXPECT_EQ(pthread_setattr_default_np(&before_), 0); }

 private:
  pthread_attr_t before_{};
};

TEST(Downloads, WithoutAThreadNothingIsDownloadedAndNothingWaitedFor) {
  const NoMoreThreads limit;
  EXPECT_THROW(std::jthread([] {}), std::system_error);
  ResolverOptions options;
  options.debuginfod = true;
  Downloads downloads(options);
  model::Module module;
  module.path = "/nowhere/app";
  module.build_id = "\x01\x02";
  downloads.want(module);
  bool has_waited = false;
  downloads.finish([&](const SymbolWork&) { return !(has_waited = true); });
  EXPECT_FALSE(has_waited);
}

TEST(Downloads, LeaveRoomOnTheDisk) {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  constexpr uint64_t kGiB = uint64_t{1} << 30;
  EXPECT_EQ(room_for_downloads(100 * kGiB, 1000 * kGiB), 98 * kGiB);
  EXPECT_EQ(room_for_downloads(2 * kGiB, 1000 * kGiB), 0U);
  EXPECT_EQ(room_for_downloads(0, 1000 * kGiB), 0U);
  EXPECT_EQ(room_for_downloads(150 * kMiB, 1000 * kMiB), 50 * kMiB) << "a small one keeps a tenth";
  EXPECT_EQ(room_for_downloads(100 * kMiB, 1000 * kMiB), 0U);
}

}  // namespace
}  // namespace heaptap::symbols
