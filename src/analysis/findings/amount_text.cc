#include "analysis/findings/amount_text.h"

#include <fmt/format.h>

#include "common/base/units.h"

namespace heaptap::findings {

std::string counted(uint64_t count, const char* noun) {
  return fmt::format("{} {}{}", base::format_count(count), noun, count == 1 ? "" : "s");
}

std::string error_text(uint64_t error) { return error == 0 ? "" : ", give or take " + base::format_count(error); }

std::string bytes_error_text(uint64_t error) { return error == 0 ? "" : ", give or take " + base::format_bytes(error); }

std::string signed_bytes(int64_t bytes) {
  const uint64_t size = bytes < 0 ? uint64_t{0} - static_cast<uint64_t>(bytes) : static_cast<uint64_t>(bytes);
  return fmt::format("{}{}", bytes < 0 ? "-" : bytes > 0 ? "+" : "", base::format_bytes(size));
}

std::string signed_count(int64_t count, const char* noun) {
  const uint64_t number = count < 0 ? uint64_t{0} - static_cast<uint64_t>(count) : static_cast<uint64_t>(count);
  return fmt::format("{}{}", count < 0 ? "-" : count > 0 ? "+" : "", counted(number, noun));
}

std::string amount(const report::BlockCount& count) {
  return fmt::format("{} in {}", base::format_bytes(count.bytes), counted(count.blocks, "block"));
}

}  // namespace heaptap::findings
