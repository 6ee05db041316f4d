#include "host/report/text_safe.h"

#include <fmt/format.h>

#include <cstdint>

namespace heaptap::report {
namespace {

// Length of the UTF-8 character at the beginning of `text` and its code point; 0 where there is none.
size_t decode(std::string_view text, uint32_t& code_point) {
  const auto byte = [&](size_t index) { return static_cast<uint8_t>(text[index]); };
  if (byte(0) < 0x80) {
    code_point = byte(0);
    return 1;
  }
  const size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < length) {
    return 0;
  }
  code_point = byte(0) & (0xffU >> (length + 1));
  for (size_t index = 1; index < length; ++index) {
    if ((byte(index) & 0xc0) != 0x80) {
      return 0;
    }
    code_point = code_point << 6 | (byte(index) & 0x3fU);
  }
  const uint32_t least = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  const bool surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
  return code_point < least || code_point > 0x10ffff || surrogate ? 0 : length;
}

bool harmless(uint32_t code_point) {
  const bool control = code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0);
  const bool separator = code_point == 0x2028 || code_point == 0x2029;
  const bool direction = (code_point >= 0x200e && code_point <= 0x200f) ||
                         (code_point >= 0x202a && code_point <= 0x202e) ||
                         (code_point >= 0x2066 && code_point <= 0x2069);
  return !control && !separator && !direction;
}

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

std::string safe_text(std::string_view text) {
  std::string result;
  for (size_t place = 0; place < text.size();) {
    uint32_t code_point = 0;
    const size_t length = decode(text.substr(place), code_point);
    if (length != 0 && harmless(code_point)) {
      result += text.substr(place, length);
    } else {
      for (size_t index = place; index < place + (length == 0 ? 1 : length); ++index) {
        result += fmt::format("\\x{:02x}", static_cast<uint8_t>(text[index]));
      }
    }
    place += length == 0 ? 1 : length;
  }
  return result;
}

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

std::string location_of(const symbols::Frame& frame) {
  const auto base_name = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  if (!frame.file.empty()) {
    return fmt::format("{}:{}", base_name(frame.file), frame.line);
  }
  if (!frame.module.empty()) {
    return fmt::format("{}+{:#x}", base_name(frame.module), frame.offset);
  }
  return fmt::format("{:#x}", frame.address);
}

std::string function_of(const symbols::Frame& frame, size_t most) {
  return frame.function.empty() ? "??" : short_name(frame.function, most);
}

std::string describe(const symbols::Frame& frame, size_t most) {
  const char* const inlined = frame.inlined ? " (inlined)" : "";
  return safe_text(fmt::format("{} at {}{}", function_of(frame, most), location_of(frame), inlined));
}

}  // namespace heaptap::report
