// One recording on the target's machine, for a host: what it asks for is started or attached to, and all that is seen of it goes there.
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
  bool gives_memory = true;                     // what leak scans need of a process's memory may go to the host
  std::optional<Compression> compression = {};  // whatever the host says
  uint64_t log_memory_bytes = 0;                // of each process, where the host doesn't say; 0: by default
  std::chrono::nanoseconds orphan_timeout = std::chrono::seconds(60);  // without a host, all is let go then
  std::optional<std::chrono::nanoseconds> exit_wait = {};  // a process waits with its end for the host, at most
  bool gives_files = true;                                 // that recorded processes have mapped, to a host that asks
  std::optional<std::chrono::nanoseconds> duration = {};   // then all is let go
  OrderPolicy policy = {};
};

// Who gets it, and who is served meanwhile.
struct Audience {
  Outlet& outlet;
  std::function<std::unique_ptr<collect::RecordingService>(collect::RecordedProcesses&, collect::RecordingSource&)>
      service;
  std::function<void()> began = [] {};
  // Before a program is started.
  std::function<void(const collect::Program&)> prepare = [](const collect::Program&) {};
  // Where functions are of the programs in these files, as far as somebody was asked and has told; null: nobody was asked.
  std::function<const model::ToldFunctions*(const std::vector<std::string>&)> functions_of =
      [](const std::vector<std::string>&) { return nullptr; };
  bool stays_with_program = true;  // when all is let go; else that is the end
  bool asks_for_scans = true;      // else processes are scanned before they are let go
};

// Until all that is recorded has ended, or was let go. With what the program ended, where one was started.
base::Result<model::ExitStatus> record(const RecordOrder& order, const TargetOptions& options,
                                       const Audience& audience);

// Until all that is recorded has ended, or was let go. The host is answered once it runs; the error is told to it as well.
base::Result<> record_for_host(const RecordOrder& order, uint64_t request, const TargetOptions& options,
                               HostLine& host);

// The same in a session that this side began itself: its host may be there already, or come at any time, even after the end. Files are
// kept for it, until it says what it wants.
base::Result<model::ExitStatus> record_for_host_to_come(const RecordOrder& order, const TargetOptions& options,
                                                        HostLine& host);

}  // namespace heaptap::remote
