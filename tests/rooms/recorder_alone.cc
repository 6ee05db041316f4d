// recorder_alone AGENT TRACE PROGRAM [ARGUMENT…]: records a program and nothing else. What is to stand on a machine where
// nobody reads traces needs the floors up to `record` alone: no reports, no names, no command line.
#include <cstdio>
#include <utility>

#include "capture/launch/launch.h"
#include "capture/supervision/agent_server.h"
#include "capture/supervision/agent_source.h"
#include "capture/supervision/supervisor.h"
#include "record/recordings/control_service.h"
#include "record/recordings/local_recording.h"

using namespace heaptap;

int main(int count, char** arguments) {
  if (count < 4) return 2;
  supervision::RecordingOptions options;
  options.output = arguments[2];
  options.via = "agent";
  options.command.assign(arguments + 3, arguments + count);
  auto server = supervision::AgentServer::create();
  if (!server) return 1;
  supervision::RecordedProcesses processes(options, recordings::LocalRecording::create);
  supervision::AgentSource source(processes, *server);
  recordings::ControlService service(processes, source);
  supervision::Supervisor supervisor({}, processes, source, service);
  source.serve_programs(supervisor.reports());
  auto launched = launch::launch({.program = arguments[3],
                                  .arguments = options.command,
                                  .environment = {},
                                  .agent_path = arguments[1],
                                  .session = server->session(),
                                  .before_execution = {}});
  if (!launched) return 1;
  supervisor.watch(std::move(*launched));
  for (const supervision::FinishedTrace& trace : processes.take_traces({})) std::printf("%s\n", trace.path.c_str());
  return 0;
}
