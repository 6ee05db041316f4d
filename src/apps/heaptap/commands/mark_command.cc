#include "apps/heaptap/commands/mark_command.h"

#include <fmt/format.h>

#include "apps/heaptap/commands/terminal.h"
#include "common/base/exit_status.h"
#include "views/client/recording.h"

namespace heaptap::app {

int perform(const MarkOptions& options) {
  const auto mark = [&]() -> base::Result<> {
    const auto pid = static_cast<uint32_t>(options.process);
    const auto recording = client::connect_to_process(pid, options.host);
    if (!recording) return std::unexpected(recording.error());
    const auto control = client::control_of(**recording, "mark");
    if (!control) return std::unexpected(control.error());
    HEAPTAP_TRY((*control)->mark(pid, options.name));
    return {};
  };
  const auto done = mark();
  if (done) return 0;
  print_error(fmt::format("heaptap: {}\n", done.error().message));
  return base::exit_status_of(done.error().kind);
}

}  // namespace heaptap::app
