// A session of the Model Context Protocol (https://modelcontextprotocol.io) with one client: JSON-RPC 2.0, a message a line. It
// answers messages and knows nothing about how they come. Revisions: 2024-11-05, 2025-03-26 (which alone has batches) and 2025-06-18.
#pragma once
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "views/json/json_reader.h"
#include "views/json/json_writer.h"
#include "views/mcp/tool.h"

namespace heaptap::mcp {

enum ErrorCode : int {
  kParseError = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kInvalidParams = -32602,
};

struct ServerFacts {
  std::string name;
  std::string title;
  std::string version;
  std::string instructions;  // for the assistant: what the tools are for
};

class Session {
 public:
  Session(ServerFacts facts, std::vector<Tool> tools) : facts_(std::move(facts)), tools_(std::move(tools)) {}

  // The answer to one line, without its end; none: a notification or a response, which have no answer.
  std::optional<std::string> answer(std::string_view line);
  // The answer to a line that is longer than `max_bytes`, and wasn't read.
  [[nodiscard]] static std::string answer_to_long_line(size_t max_bytes);

 private:
  struct Request;
  struct Failure;
  struct Answered {
    std::string tool;
    ToolArguments arguments;
    std::string text;
  };
  using Outcome = std::expected<std::string, Failure>;  // of a request: its result

  std::optional<std::string> answer_message(const json::JsonValue& message);
  std::optional<std::string> answer_batch(const json::JsonValue& batch);
  Outcome result_of(const Request& request);
  Outcome initialize(const Request& request);
  Outcome list_tools(const Request& request);
  Outcome call_tool(const Request& request);

  const ServerFacts facts_;
  const std::vector<Tool> tools_;
  std::string_view revision_;     // agreed on; empty: not initialized
  std::optional<Answered> last_;  // successful call, whose later pages may be asked for
};

}  // namespace heaptap::mcp
