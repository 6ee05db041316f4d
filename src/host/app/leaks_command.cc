#include "host/app/leaks_command.h"

#include <fmt/format.h>

#include "host/app/control_socket.h"
#include "host/app/exit_status.h"

namespace heaptap::app {

int show_leaks_now(const LeaksOptions& options) {
  const auto answer = ask_for_scan(options.process);
  if (!answer) {
    print_error(fmt::format("heaptap: {}\n", answer.error().message));
    return exit_status_of(answer.error().kind);
  }
  if (answer->number == 0) {
    print_error(fmt::format("heaptap: {}\n", answer->text));
    return kExitFailed;
  }
  ShowOptions show = options.show;
  show.view = report::View::kLeaks;
  show.trace = answer->text;
  show.query.scan = answer->number;
  show.running = true;
  return show_trace(show);
}

}  // namespace heaptap::app
