#include "capture/process/stat_line.h"

#include <charconv>

#include "capture/process/process_status.h"
#include "common/base/process_file.h"
#include "common/base/small_file.h"

namespace heaptap::process {
namespace {

constexpr size_t kMaxBytes = 8192;

}  // namespace

StatLine StatLine::of(pid_t thread) {
  return StatLine(base::read_small_file(base::process_file(thread, "stat"), kMaxBytes));
}

StatLine StatLine::of_own() { return StatLine(base::read_small_file("/proc/self/stat", kMaxBytes)); }

// The last parenthesis ends the name: after it come only numbers and the state's letter.
std::string_view StatLine::text(Field field) const {
  constexpr int kName = 2;
  std::string_view rest = text_;
  const size_t name_end = rest.rfind(')');
  if (name_end == rest.npos) return {};
  rest.remove_prefix(name_end);
  for (int i = kName; i < field; ++i) {
    const size_t blank = rest.find(' ');
    if (blank == rest.npos) return {};
    rest.remove_prefix(blank + 1);
  }
  return rest.substr(0, rest.find_first_of(" \n"));
}

std::optional<uint64_t> StatLine::number(Field field) const {
  const std::string_view digits = text(field);
  uint64_t number = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (end.ec != std::errc{} || end.ptr != digits.data() + digits.size()) return std::nullopt;
  return number;
}

}  // namespace heaptap::process
