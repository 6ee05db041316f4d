#include "apps/heaptap/console/console_connection.h"

#include <filesystem>

#include "apps/heaptap/commands/name_sources.h"
#include "apps/heaptap/commands/trace_file.h"
#include "apps/heaptap/console/console_session.h"
#include "common/base/whole_number.h"

namespace heaptap::app {

base::Result<uint32_t> process_of(const std::string& target) {
  std::error_code error;
  if (!base::is_digits(target) || std::filesystem::exists(target, error)) return 0;
  return parse_pid(target);
}

base::Result<std::unique_ptr<client::Recording>> connect_to(const std::string& target, const std::string& machine) {
  const auto pid = process_of(target);
  if (!pid) return std::unexpected(pid.error());
  if (*pid != 0) return client::connect_to_process(*pid, machine);
  std::error_code error;
  if (std::filesystem::is_socket(target, error)) return client::connect_to_socket(target);
  return client::open_past(target, open_trace, analyze_trace);
}

}  // namespace heaptap::app
