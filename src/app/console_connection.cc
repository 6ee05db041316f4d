#include "app/console_connection.h"

#include <algorithm>
#include <filesystem>

#include "app/console_session.h"
#include "app/trace_file.h"

namespace heaptap::app {

base::Result<std::unique_ptr<live::Recording>> connect_to(const std::string& target) {
  std::error_code error;
  const auto status = std::filesystem::status(target, error);
  const bool is_there = std::filesystem::exists(status);
  const bool is_number = !target.empty() && std::ranges::all_of(target, [](char c) { return c >= '0' && c <= '9'; });
  if (is_number && !is_there) {
    const auto pid = parse_pid(target);
    if (!pid) return std::unexpected(pid.error());
    return live::connect_to_process(*pid);
  }
  if (std::filesystem::is_socket(status)) return live::connect_to_socket(target);
  return live::open_past(target, open_trace);
}

}  // namespace heaptap::app
