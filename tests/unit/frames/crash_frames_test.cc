#include "common/frames/crash_frames.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace heaptap::frames {
namespace {

model::Crash crash() {
  return {.signal = 11,
          .thread_id = 4711,
          .end = wire::StackEnd::kNoUnwindTable,
          .codes = {0x401136 | wire::kCodeExact, 0x7fffffffffff, wire::kCodeExact, 0x401150}};
}

std::optional<model::Crash> read_varints(std::initializer_list<uint64_t> numbers) {
  ByteBuffer payload;
  for (const uint64_t number : numbers) payload.varint(number);
  wire::VarintReader in(payload.data(), payload.size());
  return read_crash(in);
}

TEST(CrashFrames, ACrashComesBack) {
  ByteBuffer payload;
  write_crash(payload, crash());
  wire::VarintReader in(payload.data(), payload.size());
  EXPECT_EQ(read_crash(in), crash());
  EXPECT_TRUE(in.at_end());
}

TEST(CrashFrames, AShortPayloadIsRefused) {
  ByteBuffer payload;
  write_crash(payload, crash());
  for (size_t bytes = 0; bytes < payload.size(); ++bytes) {
    wire::VarintReader in(payload.data(), bytes);
    EXPECT_FALSE(read_crash(in)) << bytes;
  }
}

TEST(CrashFrames, WhatCannotBeIsRefused) {
  EXPECT_TRUE(read_varints({11, 1, 0, 1, 2}));
  EXPECT_FALSE(read_varints({0, 1, 0, 1, 2})) << "no signal";
  EXPECT_FALSE(read_varints({65, 1, 0, 1, 2})) << "no signal";
  EXPECT_FALSE(read_varints({11, uint64_t{1} << 32, 0, 1, 2})) << "no thread";
  EXPECT_FALSE(read_varints({11, 1, wire::kRootCount, 1, 2})) << "no end of a stack";
  EXPECT_FALSE(read_varints({11, 1, 0, 0})) << "no frames";
  EXPECT_FALSE(read_varints({11, 1, 0, model::kMaxCrashFrames + 1, 2})) << "too many frames";
}

TEST(CrashFrames, AnAddressHas48Bits) {
  const auto read = read_varints({11, 1, 0, 1, ~uint64_t{0}});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->codes.front(), wire::kCodeAddressMask | wire::kCodeExact);
}

}  // namespace
}  // namespace heaptap::frames
