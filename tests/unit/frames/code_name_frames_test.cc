#include "common/frames/code_name_frames.h"

#include <gtest/gtest.h>

#include <string>

namespace heaptap::frames {
namespace {

const std::vector<model::Code> kCodes = {{0x1000, 0, false}, {0x2000, 0, true}};

void write(ByteBuffer& payload, const std::vector<model::CodeName>& names) { write_code_names(payload, names); }

bool read(wire::VarintReader& in, KnownCodeNames& known) {
  std::vector<model::CodeName> names;
  return read_code_names(in, names) && add_code_names(std::move(names), kCodes, known);
}

TEST(CodeNameFrames, NamesComeBackWithTheAddressesOfTheirCode) {
  ByteBuffer payload;
  write(payload, {{.code = 1, .name = "made"}, {.code = 0, .name = "first"}, {.code = 0, .name = "later"}});
  wire::VarintReader in(payload.data(), payload.size());
  KnownCodeNames names;
  ASSERT_TRUE(read(in, names));
  ASSERT_EQ(names.frames_of(1).size(), 1U);
  EXPECT_EQ(names.frames_of(1).front().function, "made");
  EXPECT_EQ(names.frames_of(1).front().address, 0x2000U);
  EXPECT_EQ(names.frames_of(0).front().function, "later");
  EXPECT_TRUE(names.frames_of(2).empty());
}

TEST(CodeNameFrames, NamesOfCodeThatIsMissingAreLeftOut) {
  ByteBuffer payload;
  write(payload, {{.code = 7, .name = "of a frame that is damaged"}, {.code = 1, .name = "made"}});
  wire::VarintReader in(payload.data(), payload.size());
  KnownCodeNames names;
  ASSERT_TRUE(read(in, names));
  EXPECT_EQ(names.frames_of(1).front().function, "made");
  EXPECT_TRUE(names.frames_of(7).empty());
}

TEST(CodeNameFrames, WhatIsDamagedIsRefused) {
  ByteBuffer payload;
  write(payload, {{.code = 0, .name = "one"}, {.code = 1, .name = std::string(2000, 'n')}});
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4}, payload.size()}) {
    wire::VarintReader in(payload.data(), bytes);
    KnownCodeNames names;
    EXPECT_FALSE(read(in, names)) << bytes;
  }
}

}  // namespace
}  // namespace heaptap::frames
