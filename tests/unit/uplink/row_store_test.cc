// What the target's side keeps of what hosts say: that which it asked for, within bounds.
#include "capture/uplink/row_store.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/line/line_messages.h"
#include "common/line/message_fields.h"

namespace heaptap::uplink {
namespace {

using line::Field;
using message::Fields;

std::string rows_bytes(unsigned rows) {
  model::RowTable table;
  for (unsigned i = 0; i < rows; ++i) table.add(uint64_t{16} * i, i % 2 + 1);
  const std::vector<uint8_t> bytes = model::encode(table);
  return {bytes.begin(), bytes.end()};
}

Fields answer(const std::string& build_id, std::string_view bytes, bool more = false) {
  Fields fields;
  fields.add(Field::kBuildId, build_id);
  fields.add(Field::kRows, bytes);
  fields.add(Field::kMore, more);
  return fields;
}

class RowStoreTest : public ::testing::Test {
 protected:
  void want(const std::string& build_id) { store_.want(line_, build_id, "/bin/program", 17); }

  RowStore store_;
  line::ReliableLine line_{1u << 20};
};

TEST_F(RowStoreTest, AsksOnceAndKeepsTheAnswer) {
  want("one");
  want("one");
  EXPECT_EQ(line_.unconfirmed(), 1u);
  EXPECT_FALSE(store_.is_answered("one"));
  const std::string bytes = rows_bytes(100);
  store_.take(answer("one", std::string_view(bytes).substr(0, 50), true));
  EXPECT_EQ(store_.find("one"), nullptr);
  store_.take(answer("one", std::string_view(bytes).substr(50)));
  ASSERT_NE(store_.find("one"), nullptr);
  EXPECT_EQ(store_.find("one")->row_at(17), 2u);
  EXPECT_TRUE(store_.is_answered("one"));
}

TEST_F(RowStoreTest, AnotherHostIsAskedForWhatTheLastOneDidntHave) {
  want("one");
  want("two");
  store_.take(answer("one", ""));
  store_.take(answer("two", rows_bytes(10)));
  EXPECT_TRUE(store_.is_answered("one"));
  want("one");
  EXPECT_EQ(line_.unconfirmed(), 2u) << "not the same one again";
  store_.begin_session();
  EXPECT_FALSE(store_.is_answered("one"));
  want("one");
  want("two");
  EXPECT_EQ(line_.unconfirmed(), 3u) << "of the second one there is no need to ask";
}

TEST_F(RowStoreTest, WhatWasntAskedForOrMakesNoSenseIsNotKept) {
  store_.take(answer("stranger", rows_bytes(10)));
  EXPECT_EQ(store_.find("stranger"), nullptr);
  want("one");
  store_.take(answer("one", "\xff\xff\xff\xff nonsense"));
  EXPECT_EQ(store_.find("one"), nullptr);
  EXPECT_TRUE(store_.is_answered("one"));
  store_.take(answer("one", rows_bytes(10)));
  EXPECT_EQ(store_.find("one"), nullptr) << "it has said already";
  want("");
  want("endless");
  for (int i = 0; i < 100; ++i) store_.take(answer("endless", std::string(1u << 20, 'x'), true));
  EXPECT_TRUE(store_.is_answered("endless"));
  EXPECT_EQ(store_.find("endless"), nullptr);
}

TEST_F(RowStoreTest, AfterAMissTheHostIsAskedForMore) {
  store_.want(line_, "one", "/bin/program", std::nullopt);
  store_.take(answer("one", ""));
  store_.want(line_, "one", "/bin/program", std::nullopt);
  EXPECT_EQ(line_.unconfirmed(), 1u);
  want("one");
  want("one");
  EXPECT_EQ(line_.unconfirmed(), 2u);
  EXPECT_FALSE(store_.is_answered("one"));
  store_.take(answer("one", rows_bytes(10)));
  EXPECT_TRUE(store_.is_answered("one"));
  EXPECT_NE(store_.find("one"), nullptr);
}

TEST_F(RowStoreTest, AMissBeforeTheFirstAnswer) {
  store_.want(line_, "one", "/bin/program", std::nullopt);
  want("one");
  EXPECT_EQ(line_.unconfirmed(), 2u);
  store_.take(answer("one", ""));
  EXPECT_FALSE(store_.is_answered("one"));
  store_.take(answer("one", rows_bytes(10)));
  EXPECT_TRUE(store_.is_answered("one"));
  EXPECT_NE(store_.find("one"), nullptr);
  store_.take(answer("one", rows_bytes(20)));
  EXPECT_EQ(store_.find("one")->rows.size(), 10u) << "nobody asked again";
}

TEST_F(RowStoreTest, WhatWasKnownBeforeIsNotAskedFor) {
  KeptRows known;
  known.keep("known", *model::decode_rows(line::bytes_of(std::string_view(rows_bytes(10)))));
  std::vector<std::string> told;
  store_.begin_with(std::move(known), [&told](const std::string& build_id, const model::RowTable& rows) {
    told.push_back(build_id + " " + std::to_string(rows.rows.size()));
  });
  EXPECT_FALSE(store_.is_wanted("known"));
  want("known");
  EXPECT_TRUE(store_.is_wanted("known"));
  EXPECT_EQ(line_.unconfirmed(), 0u);
  EXPECT_TRUE(store_.is_answered("known"));
  want("new");
  want("nothing");
  EXPECT_EQ(line_.unconfirmed(), 2u);
  store_.take(answer("new", rows_bytes(20)));
  store_.take(answer("nothing", ""));
  EXPECT_EQ(told, std::vector<std::string>{"new 20"}) << "and of others another host may know more";
}

TEST_F(RowStoreTest, KeepsSoManyRowsAndTheLatestOnes) {
  const std::string bytes = rows_bytes(300'000);
  for (int i = 0; i < 20; ++i) {
    want(std::to_string(i));
    store_.take(answer(std::to_string(i), bytes));
  }
  size_t kept = 0;
  store_.kept().for_each([&kept](const std::string&, const model::RowTable&) { ++kept; });
  EXPECT_GT(kept, 2u);
  EXPECT_LT(kept, 10u);
  EXPECT_NE(store_.find("19"), nullptr);
  EXPECT_EQ(store_.find("0"), nullptr);
}

}  // namespace
}  // namespace heaptap::uplink
