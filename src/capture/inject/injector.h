// The injector: a process beside heaptap that puts the agent into running processes, and takes it out again. It speaks as the tracer does
// (tracer/tracer_client.h), outlives heaptap, and traces nobody while a program is recorded: when heaptap ends, however it ends, it takes
// the agent out of all processes, and ends. If the injector itself is killed, the programs go on; the agent there writes to a log that
// nobody reads, until that is full.
#pragma once
#include <sys/types.h>

#include <memory>
#include <span>
#include <string>

#include "capture/tracer/tracer_client.h"
#include "common/base/result.h"

namespace heaptap::inject {

// `agent`: path of the injected agent's image. Call while this process has a single thread.
base::Result<std::unique_ptr<tracer::TracerClient>> start_injector(const std::string& agent);

// That no injector that lives records one of the processes: what else records it would count with the agent. Waits for one that is leaving.
base::Result<> check_unrecorded(std::span<const pid_t> processes, const std::string& agent);

// Whether the agent can be put into the process now. Doesn't touch it.
base::Result<> check_injectable(pid_t process, const std::string& agent);

}  // namespace heaptap::inject
