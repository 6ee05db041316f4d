#include "common/base/utc_text.h"

#include <gtest/gtest.h>

namespace heaptap::base {
namespace {

TEST(UtcText, IsATimeOfRfc3339) {
  EXPECT_EQ(utc_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_text(951'827'696), "2000-02-29T12:34:56Z");
  EXPECT_EQ(utc_text(1'798'761'599), "2026-12-31T23:59:59Z");
}

}  // namespace
}  // namespace heaptap::base
