#include "views/exports/frame_text.h"

#include <fmt/format.h>

#include "common/base/safe_text.h"

namespace heaptap::exports {

std::string name_of(const model::Frame& frame) {
  if (!frame.function.empty()) return base::safe_text(frame.function);
  if (frame.module.empty()) return fmt::format("{:#x}", frame.address);
  const std::string file = frame.module.substr(frame.module.rfind('/') + 1);
  return fmt::format("{}+{:#x}", base::safe_text(file), frame.offset);
}

std::string file_of(const model::Frame& frame) { return base::safe_text(frame.file); }

std::string module_of(const model::Frame& frame) { return base::safe_text(frame.module); }

std::string valgrind_text(const model::Frame& frame) {
  std::string place;
  if (!frame.file.empty())
    place = fmt::format(" ({}:{})", file_of(frame), frame.line);
  else if (!frame.module.empty())
    place = fmt::format(" (in {})", module_of(frame));
  return fmt::format("0x{:X}: {}{}", frame.address, name_of(frame), place);
}

std::string command_of(const model::Capture& capture) {
  std::string text;
  for (const std::string& word : capture.command) text += (text.empty() ? "" : " ") + word;
  return base::safe_text(text);
}

}  // namespace heaptap::exports
