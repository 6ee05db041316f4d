// Recording session on the target's machine, for a host: starts or attaches to what the host requests, and sends it all events.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "collect/program_check.h"
#include "collect/recorded_processes.h"
#include "collect/recording_service.h"
#include "collect/recording_source.h"
#include "model/capture.h"
#include "model/told_functions.h"
#include "remote/compression.h"
#include "remote/host_line.h"
#include "remote/order_policy.h"
#include "remote/outlet.h"
#include "remote/record_order.h"

namespace heaptap::remote {

struct TargetOptions {
  std::string agent;                            // file
  bool gives_memory = true;                     // a scan's data from a process's memory may be sent to the host
  std::optional<Compression> compression = {};  // overrides the host's setting
  uint64_t log_memory_bytes = 0;                // per process, if the host doesn't specify it; 0: default
  std::chrono::nanoseconds orphan_timeout = std::chrono::seconds(60);  // detaches after this time without a host
  std::optional<std::chrono::nanoseconds> exit_wait = {};  // maximum time that an ending process waits for the host
  bool gives_files = true;                                 // provides files mapped by recorded processes, on request
  std::optional<std::chrono::nanoseconds> duration = {};   // detaches after this time
  OrderPolicy policy = {};
};

// Session hooks: receiver of the events, and services during the recording.
struct Audience {
  Outlet& outlet;
  std::function<std::unique_ptr<collect::RecordingService>(collect::RecordedProcesses&, collect::RecordingSource&)>
      service;
  std::function<void()> began = [] {};
  // Called before a program is started.
  std::function<void(const collect::Program&)> prepare = [](const collect::Program&) {};
  // Function addresses of the programs in these files, as far as another machine supplied them; null: none was asked.
  std::function<const model::ToldFunctions*(const std::vector<std::string>&)> functions_of =
      [](const std::vector<std::string>&) { return nullptr; };
  bool stays_with_program = true;  // after detaching from all; else the session ends
  bool asks_for_scans = true;      // else processes are scanned before they are detached
};

// Runs until all recorded processes have ended or were detached. Returns the exit status of the program, if one was started.
base::Result<model::ExitStatus> record(const RecordOrder& order, const TargetOptions& options,
                                       const Audience& audience);

// Runs until all recorded processes have ended or were detached. The host gets the answer once recording runs, and also the error.
base::Result<> record_for_host(const RecordOrder& order, uint64_t request, const TargetOptions& options,
                               HostLine& host);

// As above in a session begun by this side: its host may be connected already, or connect at any time, even after the
// end. Files are kept for it until it has said which it wants.
base::Result<model::ExitStatus> record_for_host_to_come(const RecordOrder& order, const TargetOptions& options,
                                                        HostLine& host);

}  // namespace heaptap::remote
