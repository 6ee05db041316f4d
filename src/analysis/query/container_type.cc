#include "analysis/query/container_type.h"

#include <vector>

#include "analysis/findings/function_name.h"

namespace heaptap::query {
namespace {

constexpr size_t kLongestName = 1 << 16;

bool is_of_library(std::string_view name) {
  return name.starts_with("std::") || name.starts_with("__gnu_cxx::") || name.starts_with("void std::") ||
         name.find(" std::") < name.find_first_of("<(");
}

std::string_view without_spaces(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// The position after the > that closes the < at `begin`; npos: not closed.
size_t behind_arguments(std::string_view text, size_t begin) {
  size_t depth = 0;
  for (size_t at = begin; at < text.size(); ++at) {
    if (text[at] == '<' || text[at] == '(') ++depth;
    if ((text[at] != '>' && text[at] != ')') || depth == 0) continue;
    --depth;
    if (depth == 0) return at + 1;
  }
  return text.npos;
}

std::vector<std::string_view> arguments_of(std::string_view list) {
  std::vector<std::string_view> arguments;
  size_t depth = 0;
  size_t begin = 0;
  for (size_t at = 0; at < list.size(); ++at) {
    if (list[at] == '<' || list[at] == '(') ++depth;
    if ((list[at] == '>' || list[at] == ')') && depth > 0) --depth;
    if (list[at] != ',' || depth != 0) continue;
    arguments.push_back(without_spaces(list.substr(begin, at - begin)));
    begin = at + 1;
  }
  arguments.push_back(without_spaces(list.substr(begin)));
  return arguments;
}

// "std::vector<int, …>" of "std::vector<int, …>::push_back(…)"; empty if it isn't a member of a public class.
std::string_view class_of(std::string_view function) {
  const size_t begin = function.find("std::");
  if (begin == function.npos || begin > function.find_first_of("<(")) return {};
  std::string_view name = function.substr(begin);
  const size_t open = name.find('<');
  if (open == name.npos || open > name.find('(')) return {};
  const std::string_view plain = name.substr(0, open);
  const std::string_view last = plain.substr(plain.rfind(':') + 1);
  if (last.starts_with('_') || last == "allocator" || last == "allocator_traits") return {};
  const size_t end = behind_arguments(name, open);
  if (end == name.npos) return {};
  if (name.substr(end).starts_with("::")) return name.substr(0, end);
  // A function template that makes objects: the type is its first argument.
  if (last == "make_unique" || last == "make_shared") {
    return arguments_of(name.substr(open + 1, end - open - 2)).front();
  }
  return {};
}

// Classes that keep reference counts, with the object or with a pointer to it as first argument.
constexpr std::string_view kWithObject[] = {"std::_Sp_counted_ptr_inplace<", "std::__shared_ptr_emplace<"};
constexpr std::string_view kWithPointer[] = {"std::_Sp_counted_ptr<", "std::_Sp_counted_deleter<",
                                             "std::__shared_ptr_pointer<"};

}  // namespace

std::string shared_block_type(std::string type) {
  const auto first_argument = [&](std::string_view begin) {
    const std::string_view list = std::string_view(type).substr(begin.size());
    std::string_view object = arguments_of(list.substr(0, list.rfind('>'))).front();
    if (object.ends_with('*')) object.remove_suffix(1);
    return std::string(object);
  };
  for (const std::string_view begin : kWithObject) {
    if (type.starts_with(begin)) return "std::shared_ptr<" + first_argument(begin) + "> block";
  }
  for (const std::string_view begin : kWithPointer) {
    if (type.starts_with(begin)) return "std::shared_ptr<" + first_argument(begin) + "> counts";
  }
  return type;
}

// The outermost frame of the library is nearest to the program's own code.
std::string container_type(std::span<const model::Frame> frames) {
  std::string_view found;
  for (const model::Frame& frame : frames) {
    if (frame.function.size() > kLongestName || !is_of_library(frame.function)) break;
    if (const std::string_view type = class_of(frame.function); !type.empty()) found = type;
  }
  return findings::without_defaults(found);
}

}  // namespace heaptap::query
