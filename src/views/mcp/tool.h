// A tool that an assistant may call: its description, its parameters, and the function that answers. The parameters are
// declared once: the schema that a client sees and the check of what it sends are both made from them.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "views/json/json_reader.h"
#include "views/json/json_writer.h"

namespace heaptap::mcp {

struct Parameter {
  enum class Type : uint8_t { kText, kNumber };
  std::string name;
  Type type = Type::kText;
  bool is_required = false;
  std::string description;
  std::vector<std::string> words = {};  // the only texts allowed; none: any
};

// Values of a call, checked against the tool's parameters.
class Arguments {
 public:
  // `given`: an object, or null for none.
  static base::Result<Arguments> create(const std::vector<Parameter>& parameters, const json::JsonValue* given);

  // Empty: not given.
  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] std::optional<uint64_t> number(std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> texts_;
  std::map<std::string, uint64_t, std::less<>> numbers_;
};

struct Tool {
  std::string name;
  std::string title;
  std::string description;
  std::vector<Parameter> parameters;
  // The whole answer, of any length; it is given page by page. An error is told to the assistant.
  std::function<base::Result<std::string>(const Arguments& arguments)> answer;
};

// As tools/list has it: name, title, description, inputSchema, annotations.
void write_tool(json::JsonWriter& json, const Tool& tool);

// The parameter that all tools have: where in the answer to begin.
Parameter cursor_parameter();

}  // namespace heaptap::mcp
