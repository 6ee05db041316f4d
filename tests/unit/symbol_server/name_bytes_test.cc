#include "analysis/symbol_server/name_bytes.h"

#include <gtest/gtest.h>

#include <random>

namespace heaptap::symbol_server {
namespace {

model::Frame frame(const std::string& function, const std::string& file, uint32_t line, bool inlined) {
  model::Frame made;
  made.function = function;
  made.symbol = "_Z" + function;
  made.file = file;
  made.line = line;
  made.inlined = inlined;
  return made;
}

bool is_same(const model::Frame& a, const model::Frame& b) {
  return a.function == b.function && a.symbol == b.symbol && a.file == b.file && a.line == b.line &&
         a.inlined == b.inlined;
}

TEST(NameBytes, AddressesAreTheSameOnTheOtherSide) {
  const std::vector<uint64_t> addresses{5, 3, 0, UINT64_MAX, 1, uint64_t{1} << 63};
  EXPECT_EQ(read_addresses(write_addresses(addresses)), addresses);
  EXPECT_EQ(read_addresses(write_addresses({})), std::vector<uint64_t>());
  EXPECT_FALSE(read_addresses(write_addresses(std::vector<uint64_t>(kMaxAddresses + 1))));
  EXPECT_FALSE(read_addresses(""));
  EXPECT_FALSE(read_addresses("\x05\x01"));
  EXPECT_FALSE(read_addresses(write_addresses(addresses) + "x"));
}

TEST(NameBytes, FramesAreTheSameOnTheOtherSide) {
  const std::vector<std::vector<model::Frame>> all{
      {frame("get", "a.c", 3, true), frame("main", "a.c", 17, false)}, {frame("", "", 0, false)}, {}};
  FrameWriter writer(1 << 20);
  for (const auto& frames : all) EXPECT_TRUE(writer.add(frames));
  const auto again = read_frames(writer.bytes());
  ASSERT_TRUE(again);
  ASSERT_EQ(again->size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ((*again)[i].size(), all[i].size());
    for (size_t j = 0; j < all[i].size(); ++j) EXPECT_TRUE(is_same((*again)[i][j], all[i][j]));
  }
}

TEST(NameBytes, AnAnswerHasRoomForOneAtLeast) {
  FrameWriter writer(100);
  const std::vector<model::Frame> large{frame(std::string(10'000, 'x'), "", 1, false)};
  EXPECT_TRUE(writer.add(large));
  EXPECT_FALSE(writer.add(large));
  EXPECT_EQ(writer.count(), 1u);
  EXPECT_EQ(read_frames(writer.bytes())->size(), 1u);
}

TEST(NameBytes, DamagedFramesAreNoneOrOthers) {
  FrameWriter writer(1 << 20);
  for (int i = 0; i < 20; ++i) {
    writer.add(
        std::vector<model::Frame>{frame("f" + std::to_string(i), "a.c", 3, true), frame("main", "a.c", 1, false)});
  }
  const std::string bytes = writer.bytes();
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(read_frames(bytes.substr(0, size))) << size;
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = bytes;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    if (const auto frames = read_frames(damaged)) {
      EXPECT_LE(frames->size(), kMaxAddresses);
    }
  }
}

}  // namespace
}  // namespace heaptap::symbol_server
