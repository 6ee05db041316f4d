#include "views/mcp/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <expected>
#include <utility>

#include "common/base/safe_text.h"
#include "common/base/small_file.h"
#include "views/mcp/page.h"

namespace heaptap::mcp {
namespace {

using json::JsonValue;
using json::JsonWriter;
using Kind = JsonValue::Kind;

constexpr std::array<std::string_view, 3> kRevisions{"2024-11-05", "2025-03-26", "2025-06-18"};
constexpr std::string_view kRevisionWithBatches = "2025-03-26";
constexpr size_t kMaxBatch = 32;
constexpr size_t kMaxQuotedBytes = 100;
constexpr std::string_view kNoId = "null";

std::string quoted(const std::string& name) { return base::safe_text(name.substr(0, kMaxQuotedBytes)); }

// The id as JSON; none: missing, or of a kind that no id has.
std::optional<std::string> id_of(const JsonValue& message) {
  const JsonValue* const id = message.find("id");
  if (id == nullptr) return std::nullopt;
  if (id->is(Kind::kNumber)) return id->number();
  if (!id->is(Kind::kString)) return std::nullopt;
  std::string text;
  json::append_json_string(text, id->string());
  return text;
}

std::string error_answer(std::string_view id, ErrorCode code, std::string_view message) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.member("jsonrpc", std::string_view("2.0"));
  json.key("id").raw(id);
  json.key("error").begin_object();
  json.member("code", static_cast<int>(code));
  json.member("message", message);
  json.end_object();
  json.end_object();
  return text;
}

// Errors name files, and so have any bytes. They may have several lines.
std::string safe_lines(std::string_view text) {
  std::string safe;
  for (const std::string& line : base::split(text, '\n')) {
    if (!safe.empty()) safe += '\n';
    safe += base::safe_text(line);
  }
  return safe;
}

// `text`: for the assistant.
std::string tool_result(std::string_view text, bool is_error) {
  std::string result;
  JsonWriter json(result);
  json.begin_object();
  json.key("content").begin_array();
  json.begin_object();
  json.member("type", std::string_view("text"));
  json.member("text", text);
  json.end_object();
  json.end_array();
  json.member("isError", is_error);
  json.end_object();
  return result;
}

}  // namespace

struct Session::Request {
  std::string method;
  const JsonValue* params = nullptr;  // an object; null: none

  [[nodiscard]] const JsonValue* find(std::string_view name) const {
    return params == nullptr ? nullptr : params->find(name);
  }
};

struct Session::Failure {
  ErrorCode code = kInvalidRequest;
  std::string message;
};

std::optional<std::string> Session::answer(std::string_view line) {
  const auto message = json::read_json(line);
  if (!message) return error_answer(kNoId, kParseError, message.error().message);
  return message->is(Kind::kArray) ? answer_batch(*message) : answer_message(*message);
}

std::string Session::answer_to_long_line(size_t max_bytes) {
  return error_answer(kNoId, kInvalidRequest, fmt::format("longer than {} bytes", max_bytes));
}

std::optional<std::string> Session::answer_batch(const JsonValue& batch) {
  const auto refused = [](std::string_view why) { return error_answer(kNoId, kInvalidRequest, why); };
  if (revision_ != kRevisionWithBatches)
    return refused(fmt::format("batches are of revision {}", kRevisionWithBatches));
  if (batch.elements().empty() || batch.elements().size() > kMaxBatch)
    return refused(fmt::format("a batch has 1 to {} messages", kMaxBatch));
  std::string answers;
  JsonWriter json(answers);
  json.begin_array();
  bool has_answer = false;
  for (const JsonValue& message : batch.elements()) {
    const auto answer = answer_message(message);
    if (!answer) continue;
    json.raw(*answer);
    has_answer = true;
  }
  json.end_array();
  return has_answer ? std::optional(answers) : std::nullopt;
}

std::optional<std::string> Session::answer_message(const JsonValue& message) {
  const auto refused = [](std::string_view id, std::string_view why) { return error_answer(id, kInvalidRequest, why); };
  if (!message.is(Kind::kObject)) return refused(kNoId, "a message is an object");
  const auto id = id_of(message);
  const std::string shown_id = id.value_or(std::string(kNoId));
  const JsonValue* const version = message.find("jsonrpc");
  if (version == nullptr || version->string() != "2.0") return refused(shown_id, "\"jsonrpc\" is not \"2.0\"");
  const JsonValue* const method = message.find("method");
  // This server asks nothing, so that no response is expected; there is none to answer with.
  const bool is_response = method == nullptr && (message.find("result") != nullptr || message.find("error") != nullptr);
  if (is_response) return std::nullopt;
  if (method == nullptr || !method->is(Kind::kString)) return refused(shown_id, "\"method\" is not a string");
  if (message.find("id") == nullptr) return std::nullopt;  // a notification: none changes anything here
  if (!id) return refused(kNoId, "\"id\" is not a string or a number");
  const JsonValue* const params = message.find("params");
  if (params != nullptr && !params->is(Kind::kObject))
    return error_answer(*id, kInvalidParams, "\"params\" is not an object");
  const auto outcome = result_of({.method = method->string(), .params = params});
  if (!outcome) return error_answer(*id, outcome.error().code, outcome.error().message);
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.member("jsonrpc", std::string_view("2.0"));
  json.key("id").raw(*id);
  json.key("result").raw(*outcome);
  json.end_object();
  return text;
}

Session::Outcome Session::result_of(const Request& request) {
  if (request.method == "initialize") return initialize(request);
  if (request.method == "ping") return "{}";
  if (request.method == "tools/list") return list_tools(request);
  if (request.method == "tools/call") return call_tool(request);
  return std::unexpected(Failure{kMethodNotFound, fmt::format("unknown method '{}'", quoted(request.method))});
}

Session::Outcome Session::initialize(const Request& request) {
  const JsonValue* const wanted = request.find("protocolVersion");
  if (wanted == nullptr || !wanted->is(Kind::kString))
    return std::unexpected(Failure{kInvalidParams, "\"protocolVersion\" is not a string"});
  const auto known = std::ranges::find(kRevisions, wanted->string());
  revision_ = known == kRevisions.end() ? kRevisions.back() : *known;
  std::string result;
  JsonWriter json(result);
  json.begin_object();
  json.member("protocolVersion", revision_);
  json.key("capabilities").begin_object();
  json.key("tools").begin_object();
  json.end_object();
  json.end_object();
  json.key("serverInfo").begin_object();
  json.member("name", std::string_view(facts_.name));
  json.member("title", std::string_view(facts_.title));
  json.member("version", std::string_view(facts_.version));
  json.end_object();
  json.member("instructions", std::string_view(facts_.instructions));
  json.end_object();
  return result;
}

Session::Outcome Session::list_tools(const Request& request) {
  if (request.find("cursor") != nullptr)
    return std::unexpected(Failure{kInvalidParams, "unknown cursor: the list has one page"});
  std::string result;
  JsonWriter json(result);
  json.begin_object();
  json.key("tools").begin_array();
  for (const Tool& tool : tools_) write_tool(json, tool);
  json.end_array();
  json.end_object();
  return result;
}

Session::Outcome Session::call_tool(const Request& request) {
  const auto wrong = [](std::string message) { return std::unexpected(Failure{kInvalidParams, std::move(message)}); };
  const JsonValue* const name = request.find("name");
  if (name == nullptr || !name->is(Kind::kString)) return wrong("\"name\" is not a string");
  const auto tool = std::ranges::find(tools_, name->string(), &Tool::name);
  if (tool == tools_.end()) return wrong(fmt::format("unknown tool '{}'", quoted(name->string())));
  const auto arguments = ToolArguments::create(tool->parameters, request.find("arguments"));
  if (!arguments) return wrong(arguments.error().message);
  const bool is_continued =
      arguments->cursor() != 0 && last_ && last_->tool == tool->name && last_->arguments == *arguments;
  if (!is_continued) {
    auto answer = tool->answer(*arguments);
    if (!answer) return tool_result(*page_of(safe_lines(answer.error().message), 0), true);
    last_ = {.tool = tool->name, .arguments = *arguments, .text = *std::move(answer)};
  }
  const auto page = page_of(last_->text, arguments->cursor());
  if (!page) return wrong(page.error().message);
  return tool_result(*page, false);
}

}  // namespace heaptap::mcp
