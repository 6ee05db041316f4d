// Messages between two machines: their numbers and the order of their fields are those of docs/wire.md, and what is
// missing or impossible is 0, empty or unknown.
#include "common/line/line_messages.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>
#include <utility>

#include "common/message/common_messages.h"
#include "common/model/note_code.h"
#include "raw_fields.h"

namespace heaptap::line {
namespace {

using message::Message;
using test::fields_of;
using test::number;
using test::text;

std::string bytes_of_message(int kind, std::initializer_list<std::pair<int, test::FieldValue>> all) {
  return encode(Message{.kind = message::Number(static_cast<uint8_t>(kind)), .number = 0, .fields = fields_of(all)});
}

TEST(LineMessages, OfTheLineItselfHaveTheFieldsOfTheProtocol) {
  EXPECT_EQ(encode(message_of(Resume{})), bytes_of_message(64, {{80, text("")}, {64, number(0)}}));
  EXPECT_EQ(encode(message_of(Resume{.session = "s", .received = 2, .takes_over = kTakeOverByForce, .process = 3})),
            bytes_of_message(64, {{80, text("s")}, {64, number(2)}, {110, number(2)}, {5, number(3)}}));
  EXPECT_EQ(encode(message_of(Received{.messages = 300})), bytes_of_message(65, {{64, number(300)}}));
  EXPECT_EQ(encode(message_of(Kind::kHeartbeat)), bytes_of_message(66, {}));
  EXPECT_EQ(encode(refusal_of_line("no")), bytes_of_message(3, {{3, text("no")}}));
  const Resume read = decode_resume(fields_of({{110, number(7)}, {64, text("\xff")}}));
  EXPECT_EQ(read.takes_over, 7u);
  EXPECT_EQ(read.received, 0u);
}

TEST(LineMessages, OfARecordingHaveTheFieldsOfTheProtocol) {
  EXPECT_EQ(encode(message_of(RecordingBegun{.stream = 3, .capture = "c", .kept_ns = 9})),
            bytes_of_message(80, {{83, text("c")}, {32, number(9)}, {81, number(3)}}));
  EXPECT_EQ(encode(message_of(RecordingBegun{.stream = 3, .capture = "c"})),
            bytes_of_message(80, {{83, text("c")}, {81, number(3)}}));
  EXPECT_EQ(encode(message_of(StreamBytes{.stream = 3, .bytes = "b"})),
            bytes_of_message(81, {{82, text("b")}, {81, number(3)}}));
  EXPECT_EQ(encode(message_of(CodeNames{.stream = 3, .names = "n"})),
            bytes_of_message(118, {{82, text("n")}, {81, number(3)}}));
  EXPECT_EQ(encode(message_of(ResidentSamples{.stream = 3, .samples = "r"})),
            bytes_of_message(119, {{82, text("r")}, {81, number(3)}}));
  EXPECT_EQ(encode(message_of(Marked{.stream = 3, .kind = 1, .name = "n", .time_ns = 5})),
            bytes_of_message(82, {{65, number(1)}, {66, text("n")}, {32, number(5)}, {81, number(3)}}));
  EXPECT_EQ(
      encode(message_of(
          StreamFigures{.stream = 3, .time_ns = 1, .lost_events = 2, .log_used_bytes = 4, .log_limit_bytes = 5})),
      bytes_of_message(89, {{32, number(1)}, {34, number(2)}, {35, number(4)}, {36, number(5)}, {81, number(3)}}));
  EXPECT_EQ(decode_stream_figures(message_of(StreamFigures{.paused_by_tracer_ns = 6}).fields).paused_by_tracer_ns, 6u);
  EXPECT_FALSE(decode_stream_figures(message_of(StreamFigures{}).fields).paused_by_tracer_ns.has_value())
      << "an older side doesn't know it";
  EXPECT_EQ(encode(message_of(RecordingEnded{.stream = 3, .capture = "c", .notes_before = 1})),
            bytes_of_message(85, {{83, text("c")}, {91, number(1)}, {81, number(3)}}));
  EXPECT_EQ(encode(message_of(RecordingDropped{.stream = 3})), bytes_of_message(90, {{81, number(3)}}));
  EXPECT_EQ(encode(message_of(NotRecorded{.pid = 7, .why = "w"})),
            bytes_of_message(87, {{5, number(7)}, {3, text("w")}}));
  EXPECT_EQ(encode(message_of(Attached{.pid = 7})), bytes_of_message(120, {{5, number(7)}}));
  EXPECT_EQ(decode_attached(message_of(Attached{.pid = 7}).fields).pid, 7U);
  const TracerWaits waits{.pid = 7, .place = "w", .looks = true};
  EXPECT_EQ(encode(message_of(waits)), bytes_of_message(91, {{5, number(7)}, {3, text("w")}, {99, number(1)}}));
  EXPECT_EQ(encode(message_of(decode_tracer_waits(message_of(waits).fields))), encode(message_of(waits)));
  EXPECT_EQ(encode(message_of(AllEnded{.exit = {.code = 4, .signal = {}}})), bytes_of_message(88, {{25, number(4)}}));
  EXPECT_EQ(encode(message_of(AllEnded{})), bytes_of_message(88, {}));
  EXPECT_EQ(encode(message_of(ReportWanted{.pid = 7, .reason = kReportByConsole})),
            bytes_of_message(89, {{5, number(7)}, {99, number(2)}}));
}

TEST(LineMessages, OfAScanHaveTheFieldsOfTheProtocol) {
  using Content = BlocksPiece::Content;
  EXPECT_EQ(encode(message_of(BlocksWanted{.stream = 3, .question = 2})),
            bytes_of_message(83, {{81, number(3)}, {125, number(2)}}));
  for (const auto& [content, field] :
       {std::pair(Content::kBlocks, 82), std::pair(Content::kPooled, 104), std::pair(Content::kUnsettled, 126)}) {
    const BlocksPiece piece{.stream = 3, .question = 2, .content = content, .bytes = "b", .more = true};
    const Message message = message_of(piece);
    EXPECT_EQ(encode(message),
              bytes_of_message(71, {{81, number(3)}, {125, number(2)}, {field, text("b")}, {92, number(1)}}));
    EXPECT_EQ(decode_blocks_piece(message.fields).content, content);
    EXPECT_EQ(decode_blocks_piece(message.fields).bytes, "b");
  }
  EXPECT_EQ(encode(message_of(ScanPiece{.stream = 3, .bytes = "b"})),
            bytes_of_message(84, {{82, text("b")}, {92, number(1)}, {81, number(3)}}));
  const model::Note note = model::failure_note("a note");
  const ScanEnd end{.stopped_ns = 1,
                    .read_bytes = 2,
                    .skipped_bytes = 4,
                    .threads = 5,
                    .notes = {note},
                    .checksum = 6,
                    .time_ns = 7,
                    .reason = model::ScanReason::kEnd};
  EXPECT_EQ(encode(message_of(ScanPiece{.stream = 3, .bytes = "b", .end = end})),
            bytes_of_message(84, {{96, number(1)},
                                  {94, number(2)},
                                  {95, number(4)},
                                  {97, number(5)},
                                  {98, text(model::encode(note))},
                                  {93, number(6)},
                                  {32, number(7)},
                                  {99, number(1)},
                                  {82, text("b")},
                                  {92, number(0)},
                                  {81, number(3)}}));
  const Message with_regions = message_of(ScanPiece{.stream = 3, .bytes = "", .end = ScanEnd{.regions = "r"}});
  EXPECT_EQ(with_regions.fields.text_or_empty(static_cast<Field>(145)), "r");
  EXPECT_EQ(decode_scan_piece(with_regions.fields).end->regions, "r");
  const Message with_crash = message_of(ScanPiece{.stream = 3, .bytes = "", .end = ScanEnd{.crash = "c"}});
  EXPECT_EQ(with_crash.fields.text_or_empty(static_cast<Field>(147)), "c");
  EXPECT_EQ(decode_scan_piece(with_crash.fields).end->crash, "c");
}

TEST(LineMessages, AScanSaysWhyItWasMade) {
  using enum model::ScanReason;
  for (const model::ScanReason reason : {kEnd, kAsked, kExitBegins}) {
    const Message message = message_of(ScanPiece{.stream = 3, .end = ScanEnd{.reason = reason}});
    EXPECT_EQ(decode_scan_piece(message.fields).end->reason, reason);
    // All that earlier versions know of it.
    EXPECT_EQ(message.fields.number_or_0(Field::kReason), reason == kEnd ? 1u : 0u);
  }
}

TEST(LineMessages, AScansLastPieceIsOneThatSaysNothingOfMore) {
  EXPECT_FALSE(decode_scan_piece(fields_of({{92, number(1)}})).end.has_value());
  const ScanPiece last = decode_scan_piece(fields_of({{97, number(uint64_t{1} << 32)}, {98, text("\xff")}}));
  ASSERT_TRUE(last.end.has_value());
  EXPECT_EQ(last.end->threads, 0u);
  EXPECT_TRUE(last.end->notes.empty());
}

TEST(LineMessages, OfFilesAndRowsHaveTheFieldsOfTheProtocol) {
  EXPECT_EQ(encode(message_of(FileWanted{.place = {.stream = 3, .module = 2}, .offset = 1})),
            bytes_of_message(105, {{81, number(3)}, {121, number(2)}, {122, number(1)}}));
  EXPECT_EQ(encode(message_of(FileSettled{.place = {.stream = 3, .module = 2}})),
            bytes_of_message(107, {{81, number(3)}, {121, number(2)}}));
  EXPECT_EQ(encode(message_of(FilePiece{.place = {.stream = 3, .module = 2}, .offset = 1, .why_not = "w"})),
            bytes_of_message(106, {{81, number(3)}, {121, number(2)}, {122, number(1)}, {3, text("w")}}));
  const FilePiece piece{
      .place = {.stream = 3, .module = 2}, .offset = 1, .file_bytes = 9, .build_id = "i", .bytes = "b"};
  EXPECT_EQ(
      encode(message_of(piece)),
      bytes_of_message(
          106,
          {{81, number(3)}, {121, number(2)}, {122, number(1)}, {123, number(9)}, {124, text("i")}, {82, text("b")}}));
  EXPECT_EQ(encode(message_of(RowRequest{.build_id = "i", .path = "/p", .address = 0})),
            bytes_of_message(114, {{124, text("i")}, {66, text("/p")}, {134, number(0)}}));
  EXPECT_EQ(encode(message_of(RowRequest{.build_id = "i", .path = "/p"})),
            bytes_of_message(114, {{124, text("i")}, {66, text("/p")}}));
  EXPECT_EQ(encode(message_of(RowsPiece{.build_id = "i", .rows = "r", .more = true})),
            bytes_of_message(115, {{124, text("i")}, {140, text("r")}, {92, number(1)}}));
}

TEST(LineMessages, APieceOfAFileWithoutItsPlaceIsNone) {
  EXPECT_TRUE(decode_file_piece(fields_of({{81, number(0)}, {121, number(0)}, {122, number(0)}})).has_value());
  EXPECT_FALSE(decode_file_piece(fields_of({{121, number(0)}, {122, number(0)}})).has_value());
  EXPECT_FALSE(decode_file_piece(fields_of({{81, number(0)}, {121, text("\xff")}, {122, number(0)}})).has_value());
  EXPECT_FALSE(decode_file_piece(fields_of({{81, number(0)}, {121, number(0)}})).has_value());
}

TEST(LineMessages, FiguresAskForNoReport) {
  EXPECT_FALSE(decode_report_wanted(message_of(StreamFigures{.stream = 1}).fields).has_value());
  EXPECT_FALSE(decode_report_wanted(fields_of({{5, number(7)}, {99, number(0)}})).has_value());
  const auto wanted = decode_report_wanted(fields_of({{99, number(1)}}));
  ASSERT_TRUE(wanted.has_value());
  EXPECT_FALSE(wanted->pid.has_value());
}

}  // namespace
}  // namespace heaptap::line
