#include "analysis/findings/text_safe.h"

#include <fmt/format.h>

#include "analysis/findings/function_name.h"
#include "common/base/safe_text.h"

namespace heaptap::findings {
std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string location_of(const model::Frame& frame) {
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

}  // namespace heaptap::findings
