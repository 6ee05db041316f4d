// Facts of this machine and this process's environment, from the kernel and the file system: data, without judgement.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "common/base/result.h"

namespace heaptap::app {

struct MachineFacts {
  std::optional<int> ptrace_scope = {};      // kernel.yama.ptrace_scope; none: the kernel has no Yama
  bool is_root = false;                      // effective user 0, perhaps of a container
  bool may_trace_all = false;                // CAP_SYS_PTRACE
  bool no_new_privileges = false;            // exec grants no privileges: affects sudo, setuid programs
  bool has_filter = false;                   // a seccomp filter
  bool has_sudo = false;                     // the command exists
  std::string package_tool = {};             // "apt-get", "dnf", "zypper" or "pacman"; empty: none is installed
  bool has_libc_debug = false;               // debug information of heaptap's own C library
  std::string debuginfod_servers = {};       // $DEBUGINFOD_URLS
  bool loads_libraries = true;               // not a static heaptap; libdebuginfod is one
  bool has_debuginfod_find = false;          // the command exists
  std::optional<uint64_t> free_bytes = {};   // on the disk of the working directory
  std::optional<uint64_t> file_bytes = {};   // maximum file size (ulimit -f); none: no limit
  std::optional<uint64_t> space_bytes = {};  // address space of started programs (ulimit -v); none: no limit
  std::optional<uint64_t> open_files = {};   // maximum number (ulimit -n); none: no limit
};

// Reads files below `root`; empty: this machine's.
MachineFacts read_machine_facts(const std::string& root = {});

// Tests the operations of leak scans and the tracer on a child: stops it by ptrace and reads its registers.
base::Result<> try_tracing();

// Tests in a child whether the loader accepts the agent: detects a directory mounted noexec, or a file for another machine.
base::Result<> try_agent(const std::string& path);

}  // namespace heaptap::app
