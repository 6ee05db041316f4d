#include "app/leaks_command.h"

#include <fmt/format.h>

#include "base/exit_status.h"
#include "collect/control_socket.h"

namespace heaptap::app {

int perform(const LeaksOptions& options) {
  const auto answer = collect::ask_for_scan(options.process);
  if (!answer) {
    print_error(fmt::format("heaptap: {}\n", answer.error().message));
    return base::exit_status_of(answer.error().kind);
  }
  ShowOptions show = options.show;
  show.view = report::View::kLeaks;
  show.trace = answer->trace;
  show.query.scan = answer->number;
  show.running = true;
  return perform(show);
}

}  // namespace heaptap::app
