// collect_alone AGENT TRACE PROGRAM [ARGUMENT…]: records a program and nothing else. What is to stand on a machine where
// nobody reads traces needs the room `collect` alone: no reports, no names, no command line.
#include <cstdio>
#include <utility>

#include "collect/agent_server.h"
#include "collect/agent_source.h"
#include "collect/control_service.h"
#include "collect/launch.h"
#include "collect/local_recording.h"
#include "collect/supervisor.h"

using namespace heaptap;

int main(int count, char** arguments) {
  if (count < 4) return 2;
  collect::RecordingOptions options;
  options.output = arguments[2];
  options.via = "agent";
  options.command.assign(arguments + 3, arguments + count);
  auto server = collect::AgentServer::create();
  if (!server) return 1;
  collect::RecordedProcesses processes(options, collect::LocalRecording::create);
  collect::AgentSource source(processes, *server);
  collect::ControlService service(processes, source);
  collect::Supervisor supervisor({}, processes, source, service);
  auto launched = collect::launch({.program = arguments[3],
                                   .arguments = options.command,
                                   .environment = {},
                                   .agent_path = arguments[1],
                                   .session = server->session(),
                                   .before_execution = {}});
  if (!launched) return 1;
  supervisor.watch(std::move(*launched));
  for (const collect::FinishedTrace& trace : processes.take_traces({})) std::printf("%s\n", trace.path.c_str());
  return 0;
}
