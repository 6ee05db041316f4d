// Messages of the control protocol: their numbers and the order of their fields are those of docs/wire.md, and what is
// missing or impossible is 0, empty or unknown.
#include "common/control/control_messages.h"

#include <gtest/gtest.h>

#include <vector>

#include "raw_fields.h"

namespace heaptap::control {
namespace {

using message::Fields;
using test::fields_of;
using test::number;
using test::text;

TEST(ControlRequests, HaveTheFieldsOfTheProtocol) {
  EXPECT_EQ(encode(ProcessRequest{}).bytes(), "");
  EXPECT_EQ(encode(ProcessRequest{.pid = 0}).bytes(), fields_of({{5, number(0)}}).bytes());
  EXPECT_EQ(encode(MarkRequest{.pid = 7, .name = "a"}).bytes(), fields_of({{5, number(7)}, {66, text("a")}}).bytes());
  EXPECT_EQ(encode(MarkRequest{.pid = 7, .kind = 3, .name = "a"}).bytes(),
            fields_of({{5, number(7)}, {65, number(3)}, {66, text("a")}}).bytes());
  EXPECT_EQ(encode(DepthRequest{.depth = 300}).bytes(), fields_of({{49, number(300)}}).bytes());
  EXPECT_EQ(encode(SnapshotRequest{}).bytes(), "");
  EXPECT_EQ(encode(SnapshotRequest{.pid = 7, .image = 2}).bytes(),
            fields_of({{5, number(7)}, {17, number(2)}}).bytes());
  EXPECT_EQ(encode(KillRequest{.pid = 0, .signal = "INT"}).bytes(),
            fields_of({{5, number(0)}, {70, text("INT")}}).bytes());
}

TEST(ControlRequests, MissingAndImpossibleFieldsAreNone) {
  EXPECT_FALSE(decode_process_request({}).pid.has_value());
  const Fields wrong = fields_of({{5, text("\xff\xff")}, {17, number(uint64_t{1} << 32)}, {49, text("")}});
  EXPECT_FALSE(decode_process_request(wrong).pid.has_value());
  EXPECT_EQ(decode_snapshot_request(wrong).image, 0u);
  EXPECT_EQ(decode_depth_request(wrong).depth, 0u);
  const MarkRequest mark = decode_mark_request(fields_of({{65, number(UINT64_MAX)}}));
  EXPECT_EQ(mark.kind, UINT64_MAX);
  EXPECT_EQ(mark.name, "");
  EXPECT_EQ(decode_kill_request({}).signal, "");
  EXPECT_EQ(decode_process_request(fields_of({{5, number(UINT64_MAX)}})).pid, UINT64_MAX);
}

TEST(ControlAnswers, ProcessesHaveTheFieldsOfTheProtocol) {
  const std::vector<Process> all{
      {.pid = 10, .parent_pid = 9, .image = 2, .program = "p", .via = "agent", .trace = "t", .runs = true},
      {.pid = 11, .program = "q", .executed = true, .exit = {.code = 3, .signal = {}}}};
  const Fields first = fields_of({{5, number(10)},
                                  {16, number(9)},
                                  {17, number(2)},
                                  {18, text("p")},
                                  {19, text("agent")},
                                  {20, text("t")},
                                  {21, number(1)},
                                  {22, number(1)}});
  const Fields second = fields_of({{5, number(11)},
                                   {16, number(0)},
                                   {17, number(1)},
                                   {18, text("q")},
                                   {19, text("")},
                                   {20, text("")},
                                   {21, number(0)},
                                   {23, number(1)},
                                   {24, number(0)},
                                   {25, number(3)}});
  const Fields fields = encode(all);
  EXPECT_EQ(fields.bytes(), fields_of({{6, text(first.bytes())}, {6, text(second.bytes())}}).bytes());
  const std::vector<Process> read = decode_processes(fields);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_TRUE(read[0].runs && read[0].is_on);
  EXPECT_EQ(read[0].program, "p");
  EXPECT_TRUE(read[1].executed && !read[1].detached);
  EXPECT_EQ(read[1].exit.code, 3);
}

TEST(ControlAnswers, FiguresHaveTheFieldsOfTheProtocol) {
  const Figures figures{.pid = 1,
                        .time_ns = 2,
                        .events = 3,
                        .lost_events = 4,
                        .log_used_bytes = 5,
                        .log_limit_bytes = 6,
                        .trace_bytes = 7,
                        .resident_bytes = 8,
                        .target_cpu_ns = 9,
                        .collector_cpu_ns = 10,
                        .marks = 11,
                        .scans = 12,
                        .paused_by_tracer_ns = 13};
  const Fields fields = encode(figures);
  EXPECT_EQ(fields.bytes(), fields_of({{5, number(1)},
                                       {32, number(2)},
                                       {33, number(3)},
                                       {34, number(4)},
                                       {35, number(5)},
                                       {36, number(6)},
                                       {37, number(7)},
                                       {42, number(11)},
                                       {43, number(12)},
                                       {22, number(1)},
                                       {40, number(10)},
                                       {38, number(8)},
                                       {39, number(9)},
                                       {44, number(13)}})
                                .bytes());
  const Figures read = decode_figures(fields);
  EXPECT_EQ(encode(read).bytes(), fields.bytes());
  EXPECT_FALSE(decode_figures({}).is_on);
  EXPECT_FALSE(decode_figures({}).resident_bytes.has_value());
  EXPECT_FALSE(decode_figures({}).paused_by_tracer_ns.has_value());
}

TEST(ControlAnswers, SettingsHaveTheFieldsOfTheProtocol) {
  const Settings settings{.collector_pid = 1,
                          .heaptap_version = "2",
                          .via = "ptrace",
                          .depth = 3,
                          .follows_fork = true,
                          .drops_on_overflow = true,
                          .command = {"a", ""}};
  const Fields fields = encode(settings);
  EXPECT_EQ(fields.bytes(), fields_of({{5, number(1)},
                                       {48, text("2")},
                                       {19, text("ptrace")},
                                       {49, number(3)},
                                       {50, number(1)},
                                       {51, number(0)},
                                       {52, number(0)},
                                       {53, number(1)},
                                       {54, text("a")},
                                       {54, text("")}})
                                .bytes());
  EXPECT_EQ(encode(decode_settings(fields)).bytes(), fields.bytes());
}

TEST(ControlAnswers, MarksScansAndSnapshotsHaveTheFieldsOfTheProtocol) {
  const std::vector<model::Mark> marks{
      {.number = 1, .kind = model::MarkKind::kReset, .name = "reset", .time_ns = 2, .events_before = 3, .thread = 4}};
  const Fields entry = fields_of(
      {{64, number(1)}, {65, number(3)}, {66, text("reset")}, {32, number(2)}, {68, number(3)}, {67, number(4)}});
  EXPECT_EQ(encode(marks).bytes(), fields_of({{6, text(entry.bytes())}}).bytes());
  EXPECT_EQ(decode_marks(encode(marks)), marks);
  EXPECT_EQ(encode(Scanned{.pid = 7, .number = 2}).bytes(), fields_of({{5, number(7)}, {64, number(2)}}).bytes());
  const Snapshot recorded{.pid = 7, .image = 1, .trace_bytes = 99, .events = 5, .time_ns = 6, .trace = "/t"};
  EXPECT_EQ(
      encode(recorded).bytes(),
      fields_of({{5, number(7)}, {17, number(1)}, {37, number(99)}, {33, number(5)}, {32, number(6)}, {20, text("/t")}})
          .bytes());
  const Snapshot ended{.pid = 7, .image = 1, .trace_bytes = 99, .trace = "/t"};
  EXPECT_EQ(encode(ended).bytes(),
            fields_of({{5, number(7)}, {17, number(1)}, {37, number(99)}, {20, text("/t")}}).bytes());
  EXPECT_EQ(encode(decode_snapshot(encode(ended))).bytes(), encode(ended).bytes());
}

TEST(ControlAnswers, WrongEntriesAreLeftOutAndUnknownMarksAreNamed) {
  const Fields later = fields_of({{65, number(200)}, {66, text("later")}});
  const Fields fields = fields_of({{6, text("\x05\x7f")}, {6, text(later.bytes())}});
  const std::vector<model::Mark> marks = decode_marks(fields);
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0].kind, model::MarkKind::kNamed);
  EXPECT_EQ(marks[0].name, "later");
  EXPECT_EQ(decode_processes(fields).size(), 1u);
}

TEST(ControlNews, HaveTheFieldsOfTheProtocol) {
  using enum News::Kind;
  EXPECT_EQ(encode(News{.kind = kBegan, .pid = 7, .parent_pid = 6, .text = "p"}).bytes(),
            fields_of({{69, number(1)}, {5, number(7)}, {16, number(6)}, {3, text("p")}}).bytes());
  EXPECT_EQ(encode(News{.kind = kExecuted, .pid = 7, .text = "q"}).bytes(),
            fields_of({{69, number(2)}, {5, number(7)}, {3, text("q")}}).bytes());
  EXPECT_EQ(encode(News{.kind = kEnded, .pid = 7, .exit = {.code = {}, .signal = 9}}).bytes(),
            fields_of({{69, number(3)}, {5, number(7)}, {26, number(9)}}).bytes());
  EXPECT_EQ(encode(News{.kind = kDetached, .pid = 7}).bytes(), fields_of({{69, number(4)}, {5, number(7)}}).bytes());
  EXPECT_EQ(encode(News{.kind = kScanned, .pid = 7, .number = 2}).bytes(),
            fields_of({{69, number(5)}, {5, number(7)}, {64, number(2)}}).bytes());
  EXPECT_EQ(encode(News{.kind = kMarked, .pid = 7, .number = 2}).bytes(),
            fields_of({{69, number(6)}, {5, number(7)}, {64, number(2)}, {3, text("")}}).bytes());
  EXPECT_EQ(encode(News{.kind = kSwitchedOff, .pid = 7, .number = 2, .text = "stop"}).bytes(),
            fields_of({{69, number(8)}, {5, number(7)}, {64, number(2)}, {3, text("stop")}}).bytes());
}

TEST(ControlNews, OfALaterVersionAreNone) {
  EXPECT_FALSE(decode_news({}).has_value());
  for (const uint64_t kind : {uint64_t{0}, uint64_t{9}, uint64_t{257}, UINT64_MAX}) {
    EXPECT_FALSE(decode_news(fields_of({{69, number(kind)}})).has_value()) << kind;
  }
  EXPECT_TRUE(decode_news(fields_of({{69, number(8)}})).has_value());
}

TEST(ControlExit, ImpossibleOnesAreUnknown) {
  EXPECT_EQ(exit_in(fields_of({{25, number(255)}})).code, 255);
  EXPECT_FALSE(exit_in(fields_of({{25, number(256)}})).code.has_value());
  EXPECT_EQ(exit_in(fields_of({{26, number(64)}})).signal, 64);
  EXPECT_FALSE(exit_in(fields_of({{26, number(65)}})).signal.has_value());
  EXPECT_FALSE(exit_in(fields_of({{26, text("no number")}})).signal.has_value());
}

}  // namespace
}  // namespace heaptap::control
