#include "common/base/crc32.h"

#include <gtest/gtest.h>

#include <string_view>

namespace heaptap::base {
namespace {

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

TEST(Crc32, IsTheOneOfTheStandard) {
  Crc32 crc;
  EXPECT_EQ(crc.value(), 0u);
  crc.add(bytes_of("123456789"));
  EXPECT_EQ(crc.value(), 0xcbf43926u);
}

TEST(Crc32, IsTheSameInPieces) {
  Crc32 crc;
  crc.add(bytes_of("1234"));
  crc.add({});
  crc.add(bytes_of("56789"));
  EXPECT_EQ(crc.value(), 0xcbf43926u);
}

}  // namespace
}  // namespace heaptap::base
