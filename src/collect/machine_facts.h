// What this machine and this process's environment allow, as the kernel and the file system tell it: data, without a verdict.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace heaptap::collect {

struct MachineFacts {
  std::optional<int> ptrace_scope = {};      // kernel.yama.ptrace_scope; none: the kernel has no Yama
  bool is_root = false;                      // effective user 0, perhaps of a container
  bool may_trace_all = false;                // CAP_SYS_PTRACE
  bool no_new_privileges = false;            // what is executed gains none: sudo, setuid programs
  bool has_filter = false;                   // of system calls (seccomp)
  bool has_sudo = false;                     // the command
  std::string package_tool = {};             // "apt-get", "dnf", "zypper" or "pacman"; empty: none of them is here
  bool has_libc_debug = false;               // debug information of the C library that heaptap itself uses
  std::string debuginfod_servers = {};       // $DEBUGINFOD_URLS
  std::optional<uint64_t> free_bytes = {};   // on the disk of the working directory
  std::optional<uint64_t> file_bytes = {};   // how long a file may be (ulimit -f); none: no limit
  std::optional<uint64_t> space_bytes = {};  // address space of what is started (ulimit -v); none: no limit
  std::optional<uint64_t> open_files = {};   // at once (ulimit -n); none: no limit
};

// Files are read below `root`; empty: those of this machine.
MachineFacts read_machine_facts(const std::string& root = {});

// Tries on a child of its own what leak scans and the tracer do: stops it by ptrace and reads its registers.
base::Result<> try_tracing();

// Tries in a child whether the loader takes the agent: a directory mounted with noexec, or a file of another machine, shows here.
base::Result<> try_agent(const std::string& path);

}  // namespace heaptap::collect
