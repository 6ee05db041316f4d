#include "analysis/symbol_server/symbol_messages.h"

namespace heaptap::symbol_server {

using message::Fields;

Fields encode(const LevelsRequest& request) {
  Fields fields;
  for (const std::string& build_id : request.build_ids) fields.add(Field::kBuildId, build_id);
  return fields;
}

LevelsRequest decode_levels_request(const Fields& fields) {
  const std::vector<std::string_view> ids = fields.texts(Field::kBuildId);
  return {.build_ids = {ids.begin(), ids.end()}};
}

Fields encode(const LevelsAnswer& answer) {
  Fields fields;
  for (const uint64_t level : answer.levels) {
    Fields entry;
    entry.add(Field::kLevel, level);
    fields.add(Field::kEntry, entry);
  }
  return fields;
}

LevelsAnswer decode_levels_answer(const Fields& fields) {
  LevelsAnswer answer;
  for (const std::string_view bytes : fields.texts(Field::kEntry)) {
    const auto entry = Fields::read(bytes);
    answer.levels.push_back(entry ? entry->number_or_0(Field::kLevel) : UINT64_MAX);
  }
  return answer;
}

Fields encode(const FramesRequest& request) {
  Fields fields;
  fields.add(Field::kBuildId, request.build_id);
  fields.add(Field::kAddresses, request.addresses);
  return fields;
}

FramesRequest decode_frames_request(const Fields& fields) {
  return {.build_id = fields.text_or_empty(Field::kBuildId), .addresses = fields.text_or_empty(Field::kAddresses)};
}

Fields encode(const FramesAnswer& answer) {
  Fields fields;
  if (answer.frames) fields.add(Field::kFrames, *answer.frames);
  return fields;
}

FramesAnswer decode_frames_answer(const Fields& fields) {
  const auto frames = fields.text(Field::kFrames);
  return {.frames = frames ? std::optional(std::string(*frames)) : std::nullopt};
}

Fields encode(const VariableRequest& request) {
  Fields fields;
  fields.add(Field::kBuildId, request.build_id);
  fields.add_known(Field::kAddress, request.address);
  fields.add(Field::kIsThreadLocal, request.is_thread_local);
  return fields;
}

VariableRequest decode_variable_request(const Fields& fields) {
  return {.build_id = fields.text_or_empty(Field::kBuildId),
          .address = fields.number(Field::kAddress),
          .is_thread_local = fields.number_or_0(Field::kIsThreadLocal) != 0};
}

Fields encode(const std::optional<symbols::Variable>& answer) {
  Fields fields;
  if (!answer) return fields;
  fields.add(Field::kName, answer->name);
  fields.add(Field::kFile, answer->file);
  fields.add(Field::kLine, answer->line);
  fields.add(Field::kBegin, answer->begin);
  fields.add(Field::kSizeBytes, answer->size_bytes);
  return fields;
}

std::optional<symbols::Variable> decode_variable_answer(const Fields& fields) {
  if (!fields.text(Field::kName)) return std::nullopt;
  return symbols::Variable{.name = fields.text_or_empty(Field::kName),
                           .file = fields.text_or_empty(Field::kFile),
                           .line = fields.small_number(Field::kLine),
                           .begin = fields.number_or_0(Field::kBegin),
                           .size_bytes = fields.number_or_0(Field::kSizeBytes)};
}

Fields encode(const RowsRequest& request) {
  Fields fields;
  fields.add(Field::kBuildId, request.build_id);
  fields.add_known(Field::kAddress, request.address);
  fields.add_known(Field::kBegins, request.begins);
  return fields;
}

RowsRequest decode_rows_request(const Fields& fields) {
  return {.build_id = fields.text_or_empty(Field::kBuildId),
          .address = fields.number(Field::kAddress),
          .begins = fields.number(Field::kBegins)};
}

Fields encode(const RowsAnswer& answer) {
  Fields fields;
  fields.add_known(Field::kRow, answer.row);
  if (!answer.rows) return fields;
  fields.add(Field::kRows, *answer.rows);
  fields.add(Field::kMore, answer.more);
  return fields;
}

RowsAnswer decode_rows_answer(const Fields& fields) {
  return {.row = fields.number(Field::kRow),
          .rows = fields.text(Field::kRows),
          .more = fields.number_or_0(Field::kMore) != 0};
}

}  // namespace heaptap::symbol_server
