#include "common/line/function_codec.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/line/line_messages.h"
#include "common/model/file_identity.h"

namespace heaptap::line {
namespace {

using message::Fields;

// There are fewer names, most with one symbol.
constexpr size_t kMaxFunctions = 512;
constexpr size_t kMaxFunctionName = 128;

bool is_function_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxFunctionName && name.find('\0') == std::string_view::npos;
}

}  // namespace

message::Message message_of(const FunctionRequest& request) {
  Fields fields;
  fields.add(Field::kBuildId, request.build_id);
  fields.add(Field::kName, request.path);
  for (const std::string& name : request.names) fields.add(Field::kEntry, name);
  return {.kind = Kind::kFunctionsWanted, .number = 0, .fields = std::move(fields)};
}

std::optional<FunctionRequest> decode_function_request(const Fields& fields) {
  FunctionRequest request{
      .build_id = fields.text_or_empty(Field::kBuildId), .path = fields.text_or_empty(Field::kName), .names = {}};
  const std::vector<std::string_view> names = fields.texts(Field::kEntry);
  if (!model::is_build_id(request.build_id) || !model::is_path_or_empty(request.path)) return {};
  if (names.size() > kMaxFunctions || !std::ranges::all_of(names, is_function_name)) return {};
  request.names.assign(names.begin(), names.end());
  return request;
}

message::Message message_of(const FoundFunctions& found) {
  Fields fields;
  fields.add(Field::kBuildId, found.build_id);
  for (size_t i = 0; i < std::min(found.functions.size(), kMaxFunctions); ++i) {
    const model::ToldFunction& function = found.functions[i];
    Fields entry;
    entry.add(Field::kName, function.name);
    entry.add(Field::kAddress, function.address);
    if (function.is_local) entry.add(Field::kIsLocal, true);
    fields.add(Field::kEntry, entry);
  }
  return {.kind = Kind::kFunctions, .number = 0, .fields = std::move(fields)};
}

std::optional<FoundFunctions> decode_functions(const Fields& fields) {
  FoundFunctions found{.build_id = fields.text_or_empty(Field::kBuildId), .functions = {}};
  const std::vector<std::string_view> entries = fields.texts(Field::kEntry);
  if (!model::is_build_id(found.build_id) || entries.size() > kMaxFunctions) return {};
  for (const std::string_view bytes : entries) {
    const auto entry = Fields::read(bytes);
    const auto address = entry ? entry->number(Field::kAddress) : std::nullopt;
    if (!address || !is_function_name(entry->text(Field::kName).value_or(""))) return {};
    found.functions.push_back({.name = entry->text_or_empty(Field::kName),
                               .address = *address,
                               .is_local = entry->number_or_0(Field::kIsLocal) != 0});
  }
  return found;
}

std::string answered_build_id(const Fields& fields) { return fields.text_or_empty(Field::kBuildId); }

}  // namespace heaptap::line
