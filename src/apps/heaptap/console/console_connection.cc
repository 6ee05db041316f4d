#include "apps/heaptap/console/console_connection.h"

#include <filesystem>

#include "apps/heaptap/commands/name_sources.h"
#include "apps/heaptap/commands/trace_file.h"
#include "apps/heaptap/console/console_session.h"
#include "common/base/whole_number.h"

namespace heaptap::app {

base::Result<std::unique_ptr<client::Recording>> connect_to(const std::string& target, const std::string& machine) {
  std::error_code error;
  const auto status = std::filesystem::status(target, error);
  const bool is_there = std::filesystem::exists(status);
  if (base::is_digits(target) && !is_there) {
    const auto pid = parse_pid(target);
    if (!pid) return std::unexpected(pid.error());
    return client::connect_to_process(*pid, machine);
  }
  if (std::filesystem::is_socket(status)) return client::connect_to_socket(target);
  return client::open_past(target, open_trace, analyze_trace);
}

}  // namespace heaptap::app
