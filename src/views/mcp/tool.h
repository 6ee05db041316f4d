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
class ToolArguments {
 public:
  // `given`: an object, or null for none. A cursor may be among them.
  static base::Result<ToolArguments> create(const std::vector<Parameter>& parameters, const json::JsonValue* given);

  // Empty: not given.
  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] std::optional<uint64_t> number(std::string_view name) const;
  // Where in the answer to begin; not part of what is asked.
  [[nodiscard]] uint64_t cursor() const { return cursor_; }
  bool operator==(const ToolArguments& other) const { return texts_ == other.texts_ && numbers_ == other.numbers_; }

 private:
  std::map<std::string, std::string, std::less<>> texts_;
  std::map<std::string, uint64_t, std::less<>> numbers_;
  uint64_t cursor_ = 0;
};

struct Tool {
  std::string name;
  std::string title;
  std::string description;
  std::vector<Parameter> parameters;
  // The whole answer, of any length; it is given page by page. An error is told to the assistant.
  std::function<base::Result<std::string>(const ToolArguments& arguments)> answer;
  bool is_open_world = false;  // other machines may be asked
};

// As tools/list has it: name, title, description, inputSchema, annotations.
void write_tool(json::JsonWriter& json, const Tool& tool);

}  // namespace heaptap::mcp
