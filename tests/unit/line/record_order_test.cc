// What a host asks a target's side to record, as a message.
#include "common/line/record_order.h"
#include "common/line/line_messages.h"

#include <gtest/gtest.h>

namespace heaptap::line {
namespace {

using message::Fields;

RecordOrder order_with_all() {
  return {.command = {"/bin/program", "", "two words"},
          .environment = {"A=1", "B="},
          .user = "1000",
          .processes = {1, 4'194'304},
          .via = "ptrace",
          .follow_fork = true,
          .follow_exec = true,
          .no_cpp = true,
          .leak_scan = false,
          .drop_on_overflow = true,
          .depth = 30,
          .release_stacks = wire::ReleaseStacks::kNone,
          .log_memory_bytes = uint64_t{1} << 33,
          .report_signal = 12,
          .omit = {"libodd.so"},
          .fetches = true,
          .compression = Compression::kNever};
}

TEST(RecordOrder, IsReadBackAsItWasWritten) {
  const RecordOrder order = order_with_all();
  const auto read = decode_order(*Fields::read(encode(order).bytes()));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->command, order.command);
  EXPECT_EQ(read->environment, order.environment);
  EXPECT_EQ(read->user, order.user);
  EXPECT_EQ(read->processes, order.processes);
  EXPECT_EQ(read->via, order.via);
  EXPECT_TRUE(read->follow_fork && read->follow_exec && read->no_cpp && read->drop_on_overflow);
  EXPECT_TRUE(read->fetches);
  EXPECT_EQ(read->compression, order.compression);
  EXPECT_FALSE(read->leak_scan);
  EXPECT_EQ(read->depth, order.depth);
  EXPECT_EQ(read->release_stacks, order.release_stacks);
  EXPECT_EQ(read->log_memory_bytes, order.log_memory_bytes);
  EXPECT_EQ(read->report_signal, order.report_signal);
  EXPECT_EQ(read->omit, order.omit);
}

TEST(RecordOrder, ThatAsksForNothingIsRefused) { EXPECT_FALSE(decode_order(Fields{}).has_value()); }

TEST(RecordOrder, OfNoProcessIsRefused) {
  for (const char* const text : {"", "0", "-1", "x", "1x", "99999999999999999999"}) {
    Fields fields;
    fields.add(Field::kEntry, text);
    EXPECT_FALSE(decode_order(fields).has_value()) << text;
  }
}

TEST(RecordOrder, WithACompressionThatThereIsNotIsRefused) {
  Fields fields;
  fields.add(Field::kArgument, "/bin/program");
  fields.add(Field::kCompression, uint64_t{3});
  EXPECT_FALSE(decode_order(fields).has_value());
}

TEST(RecordOrder, WithAPartOfReleaseStacksThatThereIsNotIsRefused) {
  Fields fields;
  fields.add(Field::kArgument, "/bin/program");
  fields.add(Field::kReleaseStacks, uint64_t{3});
  EXPECT_FALSE(decode_order(fields).has_value());
}

// As before there was a choice.
TEST(RecordOrder, WithoutAPartOfReleaseStacksMeansAllOfThem) {
  Fields fields;
  fields.add(Field::kArgument, "/bin/program");
  EXPECT_EQ(decode_order(fields)->release_stacks, wire::ReleaseStacks::kFull);
}

TEST(RecordOrder, OfAnotherWayOrSignalIsRefused) {
  RecordOrder order = order_with_all();
  order.via = "magic";
  EXPECT_FALSE(decode_order(encode(order)).has_value());
  order.via.clear();
  order.report_signal = 65;
  EXPECT_FALSE(decode_order(encode(order)).has_value());
}

}  // namespace
}  // namespace heaptap::line
