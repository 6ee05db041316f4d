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

}  // namespace
}  // namespace heaptap::symbols
