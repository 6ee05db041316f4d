// Status of a process or a thread, from /proc/PID/status and related files.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace heaptap::process {

struct ThreadStatus {
  char state = '?';  // as in proc(5): R, S, D, T, t, Z, X, …
  pid_t process = 0;
  pid_t parent = 0;
  pid_t tracer = 0;  // 0: not traced

  [[nodiscard]] bool has_ended() const { return state == 'Z' || state == 'X'; }
};

// None: no such thread.
std::optional<ThreadStatus> read_thread_status(pid_t thread);

// All threads of the process; empty: no such process.
std::vector<pid_t> list_threads(pid_t process);

// Children that this thread of the process made, and that are still its children.
std::vector<pid_t> list_children(pid_t process, pid_t thread);

// Whether two processes have the same memory (vfork). None: the kernel doesn't tell.
std::optional<bool> share_memory(pid_t a, pid_t b);

// A running thread of the process: /proc gives memory, files and program only for such a one. The first thread if it
// qualifies. 0: the process has ended.
pid_t find_live_thread(pid_t process);

// Our thread numbers by those in the process's own PID namespace. Empty: they are the same.
std::map<uint32_t, uint32_t> read_thread_numbers(pid_t process);

// Kernel position of a thread. None: not in a system call, or unavailable.
struct KernelPlace {
  uint64_t stack_pointer;
  uint64_t program_counter;
};
std::optional<KernelPlace> read_kernel_place(pid_t thread);

// Start of the process's first stack: arguments and environment lie above. 0: unknown.
uint64_t read_first_stack_pointer(pid_t thread);

// Start time, in kernel ticks since boot. 0: unknown.
uint64_t read_start_time(pid_t thread);

// Number of system call filters (seccomp) of a thread, or of a process's first one; where the kernel doesn't count them, 1 if any.
uint32_t count_filters(pid_t thread);
// For the calling process.
uint32_t count_own_filters();

}  // namespace heaptap::process
