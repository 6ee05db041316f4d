#include "common/line/line_messages.h"

#include <utility>

#include "common/control/control_messages.h"
#include "common/message/common_messages.h"
#include "common/model/note_code.h"

namespace heaptap::line {
namespace {

using message::Fields;
using message::Message;

std::string_view bytes_in(const Fields& fields, Field field) { return fields.text(field).value_or(""); }

void add_place(Fields& fields, const FilePlace& place) {
  fields.add(Field::kStream, place.stream);
  fields.add(Field::kModule, place.module);
}

FilePlace place_in(const Fields& fields) {
  return {.stream = stream_in(fields), .module = fields.number_or_0(Field::kModule)};
}

model::ScanReason reason_in(const Fields& fields) {
  if (fields.number_or_0(Field::kReason) != 0) return model::ScanReason::kEnd;
  return fields.number_or_0(Field::kExitBegins) != 0 ? model::ScanReason::kExitBegins : model::ScanReason::kAsked;
}

void add_end(Fields& fields, const ScanEnd& end) {
  fields.add(Field::kStoppedNs, end.stopped_ns);
  fields.add(Field::kReadBytes, end.read_bytes);
  fields.add(Field::kSkippedBytes, end.skipped_bytes);
  fields.add(Field::kThreads, end.threads);
  for (const model::Note& note : end.notes) fields.add(Field::kNote, model::encode(note));
  fields.add(Field::kChecksum, end.checksum);
  fields.add(Field::kTimeNs, end.time_ns);
  if (!end.regions.empty()) fields.add(Field::kRegions, end.regions);
  fields.add(Field::kReason, uint64_t{end.reason == model::ScanReason::kEnd});
  // Earlier versions take it for one on request.
  if (end.reason == model::ScanReason::kExitBegins) fields.add(Field::kExitBegins, uint64_t{1});
  if (!end.crash.empty()) fields.add(Field::kCrash, end.crash);
}

ScanEnd end_in(const Fields& fields) {
  ScanEnd end{.stopped_ns = fields.number_or_0(Field::kStoppedNs),
              .read_bytes = fields.number_or_0(Field::kReadBytes),
              .skipped_bytes = fields.number_or_0(Field::kSkippedBytes),
              .threads = fields.small_number(Field::kThreads),
              .checksum = fields.number_or_0(Field::kChecksum),
              .time_ns = fields.number_or_0(Field::kTimeNs),
              .reason = reason_in(fields),
              .regions = fields.text_or_empty(Field::kRegions),
              .crash = fields.text_or_empty(Field::kCrash)};
  for (const std::string_view bytes : fields.texts(Field::kNote)) {
    if (auto note = model::decode_note(bytes)) end.notes.push_back(*std::move(note));
  }
  return end;
}

Field field_of(BlocksPiece::Content content) {
  switch (content) {
    case BlocksPiece::Content::kBlocks:
      return Field::kBytes;
    case BlocksPiece::Content::kPooled:
      return Field::kPooled;
    case BlocksPiece::Content::kUnsettled:
      return Field::kUnsettled;
  }
  return Field::kBytes;
}

Message message_of_stream(Kind kind, uint64_t stream, std::string_view bytes) {
  Message message = message_of(kind);
  message.fields.add(Field::kBytes, bytes);
  message.fields.add(Field::kStream, stream);
  return message;
}

}  // namespace

Message message_of(Kind kind) { return {.kind = kind, .number = 0, .fields = {}}; }

Message refusal_of_line(std::string_view why) {
  Message message{.kind = message::CommonKind::kRefusal, .number = 0, .fields = {}};
  message.fields.add(message::CommonField::kText, why);
  return message;
}

uint64_t stream_in(const Fields& fields) { return fields.number_or_0(Field::kStream); }

Message message_of(const Resume& resume) {
  Message message = message_of(Kind::kResume);
  message.fields.add(Field::kSession, resume.session);
  message.fields.add(Field::kNumber, resume.received);
  if (resume.takes_over != kNoTakeOver) message.fields.add(Field::kTakesOver, resume.takes_over);
  if (resume.process != 0) message.fields.add(Field::kPid, resume.process);
  return message;
}

Resume decode_resume(const Fields& fields) {
  return {.session = fields.text_or_empty(Field::kSession),
          .received = fields.number_or_0(Field::kNumber),
          .takes_over = fields.number_or_0(Field::kTakesOver),
          .process = fields.number_or_0(Field::kPid)};
}

Message message_of(const Received& received) {
  Message message = message_of(Kind::kReceived);
  message.fields.add(Field::kNumber, received.messages);
  return message;
}

Received decode_received(const Fields& fields) { return {.messages = fields.number_or_0(Field::kNumber)}; }

Message message_of(const RecordingBegun& begun) {
  Message message = message_of(Kind::kRecording);
  message.fields.add(Field::kCapture, begun.capture);
  if (begun.kept_ns > 0) message.fields.add(Field::kTimeNs, begun.kept_ns);
  message.fields.add(Field::kStream, begun.stream);
  return message;
}

RecordingBegun decode_recording_begun(const Fields& fields) {
  return {.stream = stream_in(fields),
          .capture = bytes_in(fields, Field::kCapture),
          .kept_ns = fields.number_or_0(Field::kTimeNs)};
}

Message message_of(const StreamBytes& bytes) { return message_of_stream(Kind::kBytes, bytes.stream, bytes.bytes); }

StreamBytes decode_stream_bytes(const Fields& fields) {
  return {.stream = stream_in(fields), .bytes = bytes_in(fields, Field::kBytes)};
}

Message message_of(const CodeNames& names) { return message_of_stream(Kind::kCodeNames, names.stream, names.names); }

CodeNames decode_code_names(const Fields& fields) {
  return {.stream = stream_in(fields), .names = bytes_in(fields, Field::kBytes)};
}

Message message_of(const ResidentSamples& samples) {
  return message_of_stream(Kind::kResident, samples.stream, samples.samples);
}

ResidentSamples decode_resident_samples(const Fields& fields) {
  return {.stream = stream_in(fields), .samples = bytes_in(fields, Field::kBytes)};
}

Message message_of(const Marked& marked) {
  Message message = message_of(Kind::kMarked);
  message.fields.add(Field::kMarkKind, marked.kind);
  message.fields.add(Field::kName, marked.name);
  message.fields.add(Field::kTimeNs, marked.time_ns);
  message.fields.add(Field::kStream, marked.stream);
  return message;
}

Marked decode_marked(const Fields& fields) {
  return {.stream = stream_in(fields),
          .kind = fields.number_or_0(Field::kMarkKind),
          .name = fields.text_or_empty(Field::kName),
          .time_ns = fields.number_or_0(Field::kTimeNs)};
}

Message message_of(const BlocksWanted& wanted) {
  Message message = message_of(Kind::kBlocksWanted);
  message.fields.add(Field::kStream, wanted.stream);
  message.fields.add(Field::kQuestion, wanted.question);
  return message;
}

BlocksWanted decode_blocks_wanted(const Fields& fields) {
  return {.stream = stream_in(fields), .question = fields.number_or_0(Field::kQuestion)};
}

Message message_of(const BlocksPiece& piece) {
  Message message = message_of(Kind::kBlocks);
  message.fields.add(Field::kStream, piece.stream);
  message.fields.add(Field::kQuestion, piece.question);
  message.fields.add(field_of(piece.content), piece.bytes);
  message.fields.add(Field::kMore, piece.more);
  return message;
}

BlocksPiece decode_blocks_piece(const Fields& fields) {
  BlocksPiece piece{.stream = stream_in(fields),
                    .question = fields.number_or_0(Field::kQuestion),
                    .more = fields.number_or_0(Field::kMore) != 0};
  using enum BlocksPiece::Content;
  piece.content = fields.text(Field::kUnsettled) ? kUnsettled : fields.text(Field::kPooled) ? kPooled : kBlocks;
  piece.bytes = bytes_in(fields, field_of(piece.content));
  return piece;
}

Message message_of(const ScanPiece& piece) {
  Message message = message_of(Kind::kScanned);
  if (piece.end) add_end(message.fields, *piece.end);
  message.fields.add(Field::kBytes, piece.bytes);
  message.fields.add(Field::kMore, !piece.end);
  message.fields.add(Field::kStream, piece.stream);
  return message;
}

ScanPiece decode_scan_piece(const Fields& fields) {
  ScanPiece piece{.stream = stream_in(fields), .bytes = bytes_in(fields, Field::kBytes)};
  if (fields.number_or_0(Field::kMore) == 0) piece.end = end_in(fields);
  return piece;
}

Message message_of(const RecordingEnded& ended) {
  Message message = message_of(Kind::kEnded);
  message.fields.add(Field::kCapture, ended.capture);
  message.fields.add(Field::kNotesBefore, ended.notes_before);
  message.fields.add(Field::kStream, ended.stream);
  return message;
}

RecordingEnded decode_recording_ended(const Fields& fields) {
  return {.stream = stream_in(fields),
          .capture = bytes_in(fields, Field::kCapture),
          .notes_before = fields.number_or_0(Field::kNotesBefore)};
}

Message message_of(const RecordingDropped& dropped) {
  Message message = message_of(Kind::kDropped);
  message.fields.add(Field::kStream, dropped.stream);
  return message;
}

Message message_of(const NotRecorded& failed) {
  Message message = message_of(Kind::kNotRecorded);
  message.fields.add(Field::kPid, failed.pid);
  message.fields.add(Field::kText, failed.why);
  return message;
}

NotRecorded decode_not_recorded(const Fields& fields) {
  return {.pid = fields.number_or_0(Field::kPid), .why = fields.text_or_empty(Field::kText)};
}

Message message_of(const Attached& attached) {
  Message message = message_of(Kind::kAttached);
  message.fields.add(Field::kPid, attached.pid);
  return message;
}

Attached decode_attached(const Fields& fields) { return {.pid = fields.number_or_0(Field::kPid)}; }

Message message_of(const TracerWaits& waits) {
  Message message = message_of(Kind::kTracerWaits);
  message.fields.add(Field::kPid, waits.pid);
  message.fields.add(Field::kText, waits.place);
  message.fields.add(Field::kReason, uint64_t{waits.looks});
  return message;
}

TracerWaits decode_tracer_waits(const Fields& fields) {
  return {.pid = fields.number_or_0(Field::kPid),
          .place = fields.text_or_empty(Field::kText),
          .looks = fields.number_or_0(Field::kReason) != 0};
}

Message message_of(const AllEnded& ended) {
  Message message = message_of(Kind::kAllEnded);
  control::add_exit(message.fields, ended.exit);
  return message;
}

AllEnded decode_all_ended(const Fields& fields) { return {.exit = control::exit_in(fields)}; }

Message message_of(const StreamFigures& figures) {
  Message message = message_of(Kind::kFiguresNow);
  message.fields.add(Field::kTimeNs, figures.time_ns);
  message.fields.add(Field::kLostEvents, figures.lost_events);
  message.fields.add(Field::kLogUsedBytes, figures.log_used_bytes);
  message.fields.add(Field::kLogLimitBytes, figures.log_limit_bytes);
  message.fields.add_known(Field::kPausedByTracerNs, figures.paused_by_tracer_ns);
  message.fields.add(Field::kStream, figures.stream);
  return message;
}

StreamFigures decode_stream_figures(const Fields& fields) {
  return {.stream = stream_in(fields),
          .time_ns = fields.number_or_0(Field::kTimeNs),
          .lost_events = fields.number_or_0(Field::kLostEvents),
          .log_used_bytes = fields.number_or_0(Field::kLogUsedBytes),
          .log_limit_bytes = fields.number_or_0(Field::kLogLimitBytes),
          .paused_by_tracer_ns = fields.number(Field::kPausedByTracerNs)};
}

Message message_of(const ReportWanted& wanted) {
  Message message = message_of(Kind::kFiguresNow);
  message.fields.add_known(Field::kPid, wanted.pid);
  message.fields.add(Field::kReason, wanted.reason);
  return message;
}

std::optional<ReportWanted> decode_report_wanted(const Fields& fields) {
  const uint64_t reason = fields.number_or_0(Field::kReason);
  if (reason == 0) return std::nullopt;
  return ReportWanted{.pid = fields.number(Field::kPid), .reason = reason};
}

Message message_of(const FileWanted& wanted) {
  Message message = message_of(Kind::kFileWanted);
  add_place(message.fields, wanted.place);
  message.fields.add(Field::kOffset, wanted.offset);
  return message;
}

FileWanted decode_file_wanted(const Fields& fields) {
  return {.place = place_in(fields), .offset = fields.number_or_0(Field::kOffset)};
}

Message message_of(const FileSettled& settled) {
  Message message = message_of(Kind::kFileSettled);
  add_place(message.fields, settled.place);
  return message;
}

FileSettled decode_file_settled(const Fields& fields) { return {.place = place_in(fields)}; }

Message message_of(const FilePiece& piece) {
  Message message = message_of(Kind::kFilePiece);
  add_place(message.fields, piece.place);
  message.fields.add(Field::kOffset, piece.offset);
  if (piece.why_not) {
    message.fields.add(Field::kText, *piece.why_not);
  } else {
    message.fields.add(Field::kFileBytes, piece.file_bytes);
    message.fields.add(Field::kBuildId, piece.build_id);
    message.fields.add(Field::kBytes, piece.bytes);
  }
  return message;
}

std::optional<FilePiece> decode_file_piece(const Fields& fields) {
  const bool has_place =
      fields.number(Field::kStream) && fields.number(Field::kModule) && fields.number(Field::kOffset);
  if (!has_place) return std::nullopt;
  const auto why_not = fields.text(Field::kText);
  return FilePiece{.place = place_in(fields),
                   .offset = fields.number_or_0(Field::kOffset),
                   .why_not = why_not ? std::optional(std::string(*why_not)) : std::nullopt,
                   .file_bytes = fields.number_or_0(Field::kFileBytes),
                   .build_id = fields.text_or_empty(Field::kBuildId),
                   .bytes = fields.text_or_empty(Field::kBytes)};
}

Message message_of(const RowRequest& request) {
  Message message = message_of(Kind::kRowsWanted);
  message.fields.add(Field::kBuildId, request.build_id);
  message.fields.add(Field::kName, request.path);
  message.fields.add_known(Field::kAddress, request.address);
  return message;
}

RowRequest decode_row_request(const Fields& fields) {
  return {.build_id = fields.text_or_empty(Field::kBuildId),
          .path = fields.text_or_empty(Field::kName),
          .address = fields.number(Field::kAddress)};
}

Message message_of(const RowsPiece& piece) {
  Message message = message_of(Kind::kRows);
  message.fields.add(Field::kBuildId, piece.build_id);
  message.fields.add(Field::kRows, piece.rows);
  message.fields.add(Field::kMore, piece.more);
  return message;
}

RowsPiece decode_rows_piece(const Fields& fields) {
  return {.build_id = fields.text_or_empty(Field::kBuildId),
          .rows = bytes_in(fields, Field::kRows),
          .more = fields.number_or_0(Field::kMore) != 0};
}

}  // namespace heaptap::line
