// Conditions for putting the agent into a running process. Each that isn't proven is a refusal, with what to do instead.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace heaptap::inject {

// Of this CPU.
#ifdef __x86_64__
inline constexpr bool kCanInject = true;
#else
inline constexpr bool kCanInject = false;
#endif

struct InjectionFacts {
  bool is_this_cpu = true;        // x86-64, in 64-bit mode
  pid_t tracer = 0;               // 0: nobody traces it
  bool is_stopped = false;        // by SIGSTOP or similar
  bool is_filtered = false;       // a thread is under seccomp
  bool has_shadow_stack = false;  // a thread has one
  bool uses_trap_signal = false;  // handles or ignores SIGTRAP
  bool locks_memory = false;      // mlock, mlockall
  bool is_elsewhere = false;      // in other namespaces than this process: user, PID, mount
  bool shares_memory = false;     // with another process (CLONE_VM)
  bool has_agent = false;         // is recorded already, or was, and something is left
  bool is_go = false;             // its runtime switches stacks by signals
  bool is_static = false;         // has no loader
  bool is_glibc = true;           // else musl, or another C library
  bool speaks = false;            // it has functions of heaptap.h, whose calls the agent in there doesn't hear
  unsigned allocators = 1;        // objects that define malloc
};

base::Result<> check_injection(const InjectionFacts& facts);

// Those that the kernel tells. The rest is as above.
InjectionFacts read_injection_facts(pid_t process, pid_t live_thread);

// InjectionFacts::is_filtered, now.
bool is_filtered(pid_t process);
bool is_thread_filtered(pid_t thread);

// Children of the process that share its memory.
std::vector<pid_t> list_sharing_children(pid_t process);

}  // namespace heaptap::inject
