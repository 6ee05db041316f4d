#include "views/mcp/tool.h"

#include <algorithm>

#include "common/base/safe_text.h"

namespace heaptap::mcp {
namespace {

using json::JsonObject;
using json::JsonValue;
using json::JsonWriter;

constexpr const char* kCursor = "cursor";
constexpr size_t kMaxTextBytes = 4096;

const char* name_of(Parameter::Type type) { return type == Parameter::Type::kNumber ? "integer" : "string"; }

// Of all tools.
Parameter cursor_parameter() {
  return {.name = kCursor,
          .type = Parameter::Type::kNumber,
          .is_required = false,
          .description = "Of a long answer: where to continue, the number at the end of the previous page"};
}

void write_parameter(JsonWriter& json, const Parameter& parameter) {
  const JsonObject object(json);
  json.member("type", std::string_view(name_of(parameter.type)));
  json.member("description", std::string_view(parameter.description));
  if (parameter.type == Parameter::Type::kNumber) json.member("minimum", 0);
  if (parameter.words.empty()) return;
  json.key("enum").values(parameter.words);
}

void write_schema(JsonWriter& json, const std::vector<Parameter>& parameters) {
  const JsonObject object(json);
  json.member("type", std::string_view("object"));
  json.key("properties").begin_object();
  for (const Parameter& parameter : parameters) {
    json.key(parameter.name);
    write_parameter(json, parameter);
  }
  json.end_object();
  json.key("required").begin_array();
  for (const Parameter& parameter : parameters) {
    if (parameter.is_required) json.value(std::string_view(parameter.name));
  }
  json.end_array();
  json.member("additionalProperties", false);
}

}  // namespace

base::Result<ToolArguments> ToolArguments::create(const std::vector<Parameter>& parameters, const JsonValue* given) {
  ToolArguments arguments;
  const bool is_given = given != nullptr;
  if (is_given && !given->is(JsonValue::Kind::kObject)) return base::fail("the arguments are not an object");
  for (const auto& [name, value] : is_given ? given->members() : std::vector<JsonValue::Member>()) {
    if (name == kCursor) {
      const auto cursor = value.whole_number();
      if (!cursor) return base::fail("the cursor is not a whole number");
      arguments.cursor_ = *cursor;
      continue;
    }
    const auto parameter = std::ranges::find(parameters, name, &Parameter::name);
    if (parameter == parameters.end())
      return base::fail("unknown argument '{}'", base::safe_text(name.substr(0, kMaxTextBytes)));
    if (parameter->type == Parameter::Type::kNumber) {
      const auto number = value.whole_number();
      if (!number) return base::fail("the argument '{}' is not a whole number", name);
      arguments.numbers_.insert_or_assign(name, *number);
      continue;
    }
    if (!value.is(JsonValue::Kind::kString)) return base::fail("the argument '{}' is not a string", name);
    const std::string& text = value.string();
    if (text.size() > kMaxTextBytes || text.contains('\0'))
      return base::fail("the argument '{}' is too long, or has a NUL", name);
    if (!parameter->words.empty() && std::ranges::find(parameter->words, text) == parameter->words.end())
      return base::fail("the argument '{}' is none of the words of its schema", name);
    arguments.texts_.insert_or_assign(name, text);
  }
  for (const Parameter& parameter : parameters) {
    const bool is_missing = !arguments.texts_.contains(parameter.name) && !arguments.numbers_.contains(parameter.name);
    if (parameter.is_required && is_missing) return base::fail("the argument '{}' is missing", parameter.name);
  }
  return arguments;
}

std::string ToolArguments::text(std::string_view name) const {
  const auto found = texts_.find(name);
  return found == texts_.end() ? "" : found->second;
}

std::optional<uint64_t> ToolArguments::number(std::string_view name) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

void write_tool(JsonWriter& json, const Tool& tool) {
  const JsonObject object(json);
  json.member("name", std::string_view(tool.name));
  json.member("title", std::string_view(tool.title));
  json.member("description", std::string_view(tool.description));
  std::vector<Parameter> parameters = tool.parameters;
  parameters.push_back(cursor_parameter());
  json.key("inputSchema");
  write_schema(json, parameters);
  json.key("annotations");
  const JsonObject annotations(json);
  json.member("readOnlyHint", true);
  json.member("openWorldHint", tool.is_open_world);
}

}  // namespace heaptap::mcp
