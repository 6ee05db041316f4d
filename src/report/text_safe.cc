#include "report/text_safe.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/safe_text.h"

namespace heaptap::report {
namespace {

// Length of an operator's name at the beginning of `text` ("operator<<", "operator()"), 0 where there is none.
size_t operator_length(std::string_view text) {
  constexpr std::string_view kOperator = "operator";
  if (!text.starts_with(kOperator)) {
    return 0;
  }
  size_t length = kOperator.size();
  if (text.substr(length).starts_with("()")) {
    return length + 2;
  }
  while (length < text.size() && std::string_view("<>=-!").find(text[length]) != std::string_view::npos) {
    ++length;
  }
  return length;
}

// Replaces what is between the outermost `open` and `close` by three dots; nothing between them stays nothing.
std::string collapse(std::string_view name, char open, char close) {
  std::string result;
  size_t depth = 0;
  for (size_t place = 0; place < name.size();) {
    if (const size_t length = operator_length(name.substr(place)); length != 0) {
      if (depth == 0) result += name.substr(place, length);
      place += length;
      continue;
    }
    const char character = name[place++];
    if (character == close && depth > 0) {
      --depth;
    }
    if (depth == 0) {
      result += character;
    }
    if (character == open && depth++ == 0 && place < name.size() && name[place] != close) {
      result += "...";
    }
  }
  return result;
}

}  // namespace

std::string short_name(std::string_view name, size_t most) {
  std::string result(name);
  if (result.size() > most) result = collapse(result, '(', ')');
  if (result.size() > most) result = collapse(result, '<', '>');
  if (result.size() > most && most > 8) {
    const size_t head = (most - 3) / 2;
    result = result.substr(0, head) + "..." + result.substr(result.size() - (most - 3 - head));
  }
  return result;
}

std::string location_of(const model::Frame& frame) {
  const auto base_name = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  if (!frame.file.empty()) {
    return fmt::format("{}:{}", base_name(frame.file), frame.line);
  }
  if (!frame.module.empty()) {
    return fmt::format("{}+{:#x}", base_name(frame.module), frame.offset);
  }
  return fmt::format("{:#x}", frame.address);
}

std::string function_of(const model::Frame& frame, size_t most) {
  return frame.function.empty() ? "??" : short_name(frame.function, most);
}

std::string describe(const model::Frame& frame, size_t most) {
  const char* const inlined = frame.inlined ? " (inlined)" : "";
  return base::safe_text(fmt::format("{} at {}{}", function_of(frame, most), location_of(frame), inlined));
}

}  // namespace heaptap::report
