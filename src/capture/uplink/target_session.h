// Recording session on the target's machine, for a host: starts or attaches to what the host requests, and sends it all events.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/launch/program_check.h"
#include "capture/supervision/kernel_waits.h"
#include "capture/supervision/recorded_processes.h"
#include "capture/supervision/recording_service.h"
#include "capture/supervision/recording_source.h"
#include "capture/supervision/tracer_source.h"
#include "capture/uplink/asked_host.h"
#include "capture/uplink/forwarded_recording.h"
#include "capture/uplink/line_to_host.h"
#include "capture/uplink/order_policy.h"
#include "capture/uplink/uplink.h"
#include "common/base/result.h"
#include "common/line/compression.h"
#include "common/line/record_order.h"
#include "common/model/capture.h"
#include "common/model/told_functions.h"

namespace heaptap::uplink {

struct TargetOptions {
  std::string agent;                                  // file
  bool gives_memory = true;                           // a scan's data from a process's memory may be sent to the host
  std::optional<line::Compression> compression = {};  // overrides the host's setting
  uint64_t log_memory_bytes = 0;                      // per process, if the host doesn't specify it; 0: default
  std::chrono::nanoseconds orphan_timeout = std::chrono::seconds(60);  // detaches after this time without a host
  std::optional<std::chrono::nanoseconds> exit_wait = {};  // maximum time that an ending process waits for the host
  bool gives_files = true;                                 // provides files mapped by recorded processes, on request
  std::optional<std::chrono::nanoseconds> duration = {};   // detaches after this time
  OrderPolicy policy = {};
  // Waits of this process's threads in the kernel, as soon as they have lasted for a second; called in a thread of its own.
  std::function<void(const supervision::StandingThread&)> tell_of_wait = {};
  std::function<void(const supervision::TracingNews&)> tell_of_tracer = {};
};

// Session hooks: receiver of the events, and services during the recording.
struct SessionHooks {
  Uplink& uplink;
  AskedHost* host = nullptr;  // null: there is none, as for a file
  std::function<std::unique_ptr<supervision::RecordingService>(
      supervision::RecordedProcesses&, const ForwardedRecordings&, supervision::RecordingSource&)>
      service;
  std::function<void()> began = [] {};
  // Called before a program is started.
  std::function<void(const launch::Program&)> prepare = [](const launch::Program&) {};
  // Function addresses of the programs in these files, as far as another machine supplied them; null: none was asked.
  std::function<const model::ToldFunctions*(const std::vector<std::string>&)> functions_of =
      [](const std::vector<std::string>&) { return nullptr; };
  bool stays_with_program = true;  // after detaching from all; else the session ends
  bool asks_for_scans = true;      // else processes are scanned before they are detached
};

// Runs until all recorded processes have ended or were detached. Returns the exit status of the program, if one was started.
base::Result<model::ExitStatus> record(const line::RecordOrder& order, const TargetOptions& options,
                                       const SessionHooks& hooks);

// Runs until all recorded processes have ended or were detached. The host gets the answer once recording runs, and also the error.
base::Result<> record_for_host(const line::RecordOrder& order, uint64_t request, const TargetOptions& options,
                               LineToHost& host);

// As above in a session begun by this side: its host may be connected already, or connect at any time, even after the
// end. Files are kept for it until it has said which it wants.
base::Result<model::ExitStatus> record_for_host_to_come(const line::RecordOrder& order, const TargetOptions& options,
                                                        LineToHost& host);

}  // namespace heaptap::uplink
