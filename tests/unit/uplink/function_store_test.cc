// Where functions of programs are that don't tell themselves: what is asked of the host, and what of its answers is kept.
#include "capture/uplink/function_store.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/line/line_messages.h"
#include "common/message/message.h"

namespace heaptap::uplink {
namespace {

using line::Field;
using line::Kind;
using message::Fields;

line::FunctionRequest functions_request(const std::string& build_id) {
  return {.build_id = build_id, .path = "/bin/program", .names = {"malloc", "_Znwm"}};
}

std::vector<model::ToldFunction> two_functions() {
  return {{.name = "malloc", .address = 0x401000}, {.name = "free", .address = UINT64_MAX, .is_local = true}};
}

Fields functions_answer(const std::string& build_id, std::vector<model::ToldFunction> functions) {
  return line::message_of(line::FoundFunctions{.build_id = build_id, .functions = std::move(functions)}).fields;
}

Fields answer_with(const Fields& entry) {
  Fields fields;
  fields.add(Field::kBuildId, "one");
  fields.add(Field::kEntry, entry);
  return fields;
}

TEST(FunctionCodec, SaysAndReadsTheSame) {
  const auto request = line::decode_function_request(line::message_of(functions_request("\x01\xff")).fields);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->build_id, "\x01\xff");
  EXPECT_EQ(request->path, "/bin/program");
  EXPECT_EQ(request->names, functions_request("").names);
  const auto found = line::decode_functions(functions_answer("\x01\xff", two_functions()));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->build_id, "\x01\xff");
  EXPECT_EQ(found->functions, two_functions());
  EXPECT_TRUE(line::decode_functions(functions_answer("one", {}))->functions.empty());
}

TEST(FunctionCodec, TakesNoQuestionThatMakesNoSense) {
  EXPECT_FALSE(line::decode_function_request({}));
  EXPECT_FALSE(line::decode_function_request(line::message_of(functions_request("")).fields));
  EXPECT_FALSE(line::decode_function_request(line::message_of(functions_request(std::string(65, 'b'))).fields));
  for (const std::string& name : {std::string(), std::string(129, 'n'), std::string("a\0b", 3)}) {
    EXPECT_FALSE(line::decode_function_request(
        line::message_of(line::FunctionRequest{.build_id = "one", .path = "/bin/program", .names = {name}}).fields));
  }
  EXPECT_FALSE(line::decode_function_request(
      line::message_of(line::FunctionRequest{.build_id = "one", .path = std::string(4097, 'p'), .names = {}}).fields));
  EXPECT_FALSE(line::decode_function_request(
      line::message_of(line::FunctionRequest{.build_id = "one", .path = std::string("a\0b", 3), .names = {}}).fields));
  const std::vector<std::string> many(513, "malloc");
  EXPECT_FALSE(line::decode_function_request(
      line::message_of(line::FunctionRequest{.build_id = "one", .path = "/bin/program", .names = many}).fields));
}

TEST(FunctionCodec, TakesNoAnswerThatMakesNoSense) {
  EXPECT_FALSE(line::decode_functions({}));
  EXPECT_FALSE(line::decode_functions(answer_with({}))) << "neither a name nor an address";
  Fields entry;
  entry.add(Field::kName, "malloc");
  EXPECT_FALSE(line::decode_functions(answer_with(entry))) << "no address";
  entry.add(Field::kAddress, "\xff");
  EXPECT_FALSE(line::decode_functions(answer_with(entry))) << "an address that is none";
  EXPECT_FALSE(line::decode_functions(functions_answer("one", {{.name = std::string(129, 'n'), .address = 1}})));
  Fields many;
  many.add(Field::kBuildId, "one");
  for (int i = 0; i < 513; ++i) many.add(Field::kEntry, functions_answer("malloc", {}));
  EXPECT_FALSE(line::decode_functions(many));
}

class FunctionStoreTest : public ::testing::Test {
 protected:
  FunctionStore store_;
  line::ReliableLine line_{1u << 20};
};

TEST_F(FunctionStoreTest, AsksOnceAndKeepsTheAnswer) {
  store_.want(line_, functions_request("one"));
  store_.want(line_, functions_request("one"));
  EXPECT_EQ(line_.unconfirmed(), 1u);
  EXPECT_TRUE(store_.is_awaited("one"));
  store_.take(functions_answer("one", two_functions()));
  EXPECT_FALSE(store_.is_awaited("one"));
  EXPECT_EQ(store_.told().at("one"), two_functions());
  store_.want(line_, functions_request("one"));
  EXPECT_EQ(line_.unconfirmed(), 1u) << "it is known";
}

TEST_F(FunctionStoreTest, AnotherHostIsAskedAnew) {
  store_.want(line_, functions_request("one"));
  store_.take(functions_answer("one", two_functions()));
  store_.begin_session();
  EXPECT_TRUE(store_.told().empty());
  store_.want(line_, functions_request("one"));
  EXPECT_EQ(line_.unconfirmed(), 2u);
}

TEST_F(FunctionStoreTest, WhatWasntAskedForOrMakesNoSenseIsNotKept) {
  store_.take(functions_answer("stranger", two_functions()));
  EXPECT_TRUE(store_.told().empty());
  store_.want(line_, functions_request("one"));
  store_.take(functions_answer("another", two_functions()));
  EXPECT_TRUE(store_.is_awaited("one"));
  store_.take(answer_with({}));
  EXPECT_FALSE(store_.is_awaited("one")) << "that was the answer";
  EXPECT_TRUE(store_.told().empty());
  store_.take(functions_answer("one", two_functions()));
  EXPECT_TRUE(store_.told().empty()) << "it has said already";
}

}  // namespace
}  // namespace heaptap::uplink
