// Launch of a program with the agent, or held by a tracer from its first instruction.
#pragma once
#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/base/unique_fd.h"

namespace heaptap::launch {

struct LaunchOptions {
  std::string program;                   // path that is executed
  std::vector<std::string> arguments;    // including argv[0]
  std::vector<std::string> environment;  // VAR=VALUE, added to heaptap's own
  std::string agent_path;                // empty: without the agent
  std::string session;                   // name of the agents' socket
  uid_t user = static_cast<uid_t>(-1);   // -1: as heaptap itself
  gid_t group = static_cast<gid_t>(-1);
  std::vector<gid_t> groups = {};  // supplementary groups
  // Called while the child waits before executing the program, which it does after this returns; on error the child
  // exits and nothing was executed. Empty: no such stop.
  std::function<base::Result<>(pid_t)> before_execution;
  pid_t tracer = 0;  // permitted to trace the child where Yama restricts that to ancestors; 0: none
};

struct Launched {
  pid_t process = -1;
  base::UniqueFd descriptor = {};  // pidfd; none: not provided by the kernel
};

// The program inherits descriptors, signal mask and dispositions: call this before changing them in this process.
base::Result<Launched> launch(const LaunchOptions& options);

}  // namespace heaptap::launch
