// Reason why a process can't be traced, and what the user can do.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

#include "common/base/result.h"

namespace heaptap::process {

struct RefusalFacts {
  int reason = 0;    // errno
  pid_t tracer = 0;  // which traces it already; 0: none
  std::string tracer_name = {};
  std::string owner = {};  // of the process; empty: this user
  std::string user = {};   // this one
  bool is_root = false;
  std::optional<int> scope = {};  // kernel.yama.ptrace_scope; none: a kernel without Yama
};

base::Error refusal_of(const RefusalFacts& facts);

// "can't trace process 7 (server): ..."; `thread`: the refused one; `reason`: errno of ptrace, or of opening /proc/PID/mem.
base::Error ptrace_refusal(pid_t process, pid_t thread, int reason);

}  // namespace heaptap::process
