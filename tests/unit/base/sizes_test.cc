#include "common/base/sizes.h"

#include <gtest/gtest.h>

namespace heaptap::base {
namespace {

constexpr uint64_t kFirstTooLarge = uint64_t{1} << 32;  // of a CPU of 32 bits

TEST(Sizes, AreAtMostTheLimit) {
  static_assert(at_most(7, 6) == 6 && at_most(7, 7) == 7 && at_most(7, 8) == 7);
  static_assert(at_most<uint32_t>(7, kFirstTooLarge) == 7 && at_most<uint32_t>(7, kFirstTooLarge + 3) == 7);
  static_assert(at_most<uint32_t>(UINT32_MAX, kFirstTooLarge + 3) == UINT32_MAX && at_most(0, UINT64_MAX) == 0);
}

TEST(Sizes, ThatAreTooLargeAreNone) {
  static_assert(as_size<uint32_t>(0) == 0 && as_size<uint32_t>(UINT32_MAX) == UINT32_MAX);
  static_assert(!as_size<uint32_t>(kFirstTooLarge) && !as_size<uint32_t>(UINT64_MAX));
  static_assert(as_size<uint64_t>(UINT64_MAX) == UINT64_MAX);
}

TEST(Sizes, ThatWereKnownToFitAreNotCutOff) {
  static_assert(size_of_known<uint32_t>(UINT32_MAX) == UINT32_MAX);
  EXPECT_DEATH((void)size_of_known<uint32_t>(kFirstTooLarge), "broken promise");
}

}  // namespace
}  // namespace heaptap::base
