#include "apps/heaptap/commands/leaks_command.h"

#include <fmt/format.h>

#include "apps/heaptap/commands/terminal.h"
#include "common/base/exit_status.h"
#include "views/client/recording.h"

namespace heaptap::app {

int perform(const LeaksOptions& options) {
  const auto recording = client::connect_to_process(static_cast<uint32_t>(options.process), options.host);
  if (!recording) return complain(recording.error());
  const auto scan = (*recording)->scan(static_cast<uint32_t>(options.process), client::ScanKind::kAll);
  if (!scan) return complain(scan.error());
  auto trace = (*recording)->trace_file(static_cast<uint32_t>(options.process));
  if (!trace) return complain(trace.error());
  ShowOptions show = options.show;
  show.view = show.query.leaks.globals ? report::View::kGlobals : report::View::kLeaks;
  show.trace = *std::move(trace);
  show.query.leaks.scan = scan->number;
  show.running = true;
  return perform(show);
}

}  // namespace heaptap::app
