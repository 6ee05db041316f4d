// Starts a program with the agent in it, or one that a tracer holds from its first instruction on.
#pragma once
#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace heaptap::collect {

struct LaunchOptions {
  std::string program;                   // path that is executed
  std::vector<std::string> arguments;    // with the name that the program sees as its own
  std::vector<std::string> environment;  // VAR=VALUE, besides what heaptap has itself
  std::string agent_path;                // empty: start it without
  std::string session;                   // name of the agents' socket
  uid_t user = static_cast<uid_t>(-1);   // -1: as heaptap itself
  gid_t group = static_cast<gid_t>(-1);
  std::vector<gid_t> groups = {};  // that the user is in besides
  // Called while the child stands before the execution of the program, which follows when this returns; with an error the
  // child ends, and nothing was executed. Empty: no such stop.
  std::function<base::Result<>(pid_t)> before_execution;
  pid_t tracer = 0;  // who may trace the child even where Yama allows that to ancestors only; 0: nobody
};

struct Launched {
  pid_t process = -1;
  base::UniqueFd descriptor = {};  // pidfd; none: the kernel gave none
};

// The program inherits descriptors, signal mask and dispositions: call this before changing any of one's own.
base::Result<Launched> launch(const LaunchOptions& options);

}  // namespace heaptap::collect
