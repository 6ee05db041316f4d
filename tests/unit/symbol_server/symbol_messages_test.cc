// Messages of a symbol server: their numbers and the order of their fields are those of docs/wire.md, and what is missing
// or impossible is 0, empty or unknown.
#include "analysis/symbol_server/symbol_messages.h"

#include <gtest/gtest.h>

#include "raw_fields.h"

namespace heaptap::symbol_server {
namespace {

using message::Fields;
using test::fields_of;
using test::number;
using test::text;

TEST(SymbolMessages, RequestsHaveTheFieldsOfTheProtocol) {
  EXPECT_EQ(encode(LevelsRequest{.build_ids = {"a", "b"}}).bytes(),
            fields_of({{124, text("a")}, {124, text("b")}}).bytes());
  EXPECT_EQ(encode(FramesRequest{.build_id = "a", .addresses = "x"}).bytes(),
            fields_of({{124, text("a")}, {132, text("x")}}).bytes());
  EXPECT_EQ(encode(VariableRequest{.build_id = "a", .address = 7, .is_thread_local = true}).bytes(),
            fields_of({{124, text("a")}, {134, number(7)}, {135, number(1)}}).bytes());
  EXPECT_EQ(encode(RowsRequest{.build_id = "a", .begins = 0}).bytes(),
            fields_of({{124, text("a")}, {142, number(0)}}).bytes());
  EXPECT_EQ(encode(RowsRequest{.build_id = "a", .address = 7}).bytes(),
            fields_of({{124, text("a")}, {134, number(7)}}).bytes());
}

TEST(SymbolMessages, AnswersHaveTheFieldsOfTheProtocol) {
  const Fields entry = fields_of({{131, number(3)}});
  EXPECT_EQ(encode(LevelsAnswer{.levels = {3}}).bytes(), fields_of({{6, text(entry.bytes())}}).bytes());
  EXPECT_EQ(encode(FramesAnswer{.frames = "f"}).bytes(), fields_of({{133, text("f")}}).bytes());
  EXPECT_EQ(encode(FramesAnswer{}).bytes(), "");
  const symbols::Variable variable{.name = "n", .file = "f", .line = 1, .begin = 2, .size_bytes = 3};
  EXPECT_EQ(
      encode(std::optional(variable)).bytes(),
      fields_of({{66, text("n")}, {136, text("f")}, {137, number(1)}, {138, number(2)}, {139, number(3)}}).bytes());
  EXPECT_EQ(encode(std::optional<symbols::Variable>()).bytes(), "");
  EXPECT_EQ(encode(RowsAnswer{.row = 5, .rows = "r", .more = true}).bytes(),
            fields_of({{141, number(5)}, {140, text("r")}, {92, number(1)}}).bytes());
  EXPECT_EQ(encode(RowsAnswer{.row = 5}).bytes(), fields_of({{141, number(5)}}).bytes());
}

TEST(SymbolMessages, WhatIsMissingOrDamagedIsUnknown) {
  EXPECT_TRUE(decode_levels_answer({}).levels.empty());
  EXPECT_EQ(decode_levels_answer(fields_of({{6, text("\x05\x7f")}})).levels, std::vector<uint64_t>{UINT64_MAX});
  EXPECT_FALSE(decode_frames_answer({}).frames.has_value());
  EXPECT_FALSE(decode_variable_answer(fields_of({{136, text("f")}})).has_value());
  EXPECT_EQ(decode_variable_answer(fields_of({{66, text("n")}, {137, number(uint64_t{1} << 32)}}))->line, 0u);
  EXPECT_FALSE(decode_rows_request(fields_of({{134, text("\xff")}})).address.has_value());
  EXPECT_FALSE(decode_rows_answer({}).rows.has_value());
}

}  // namespace
}  // namespace heaptap::symbol_server
