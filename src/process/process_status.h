// What /proc/PID/status and its neighbours say about a process or one of its threads.
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
  pid_t tracer = 0;  // 0: nobody traces it

  [[nodiscard]] bool has_ended() const { return state == 'Z' || state == 'X'; }
};

// None: there is no such thread.
std::optional<ThreadStatus> read_thread_status(pid_t thread);

// All threads of the process; empty: there is no such process.
std::vector<pid_t> list_threads(pid_t process);

// A thread of it that runs: what /proc tells of memory, files and the program it tells of such a one only. The first thread
// if that does, which it need not. 0: the process has ended.
pid_t find_live_thread(pid_t process);

// In a pid namespace of its own a process knows its threads by other numbers than we do: ours by theirs. Empty: they are the
// same ones.
std::map<uint32_t, uint32_t> read_thread_numbers(pid_t process);

// Where a thread sits in the kernel. None: it isn't in a system call, or this isn't told.
struct KernelPlace {
  uint64_t stack_pointer;
  uint64_t program_counter;
};
std::optional<KernelPlace> read_kernel_place(pid_t thread);

// Where the process's first stack began: the arguments and the environment lie above. 0: not told.
uint64_t read_first_stack_pointer(pid_t thread);

// When it began, in the kernel's ticks since the machine did. 0: not told.
uint64_t read_start_time(pid_t thread);

// How many filters of system calls (seccomp) a thread is under, or a process's first one; where the kernel doesn't count them, 1 if any.
uint32_t count_filters(pid_t thread);
// The calling process.
uint32_t count_own_filters();

}  // namespace heaptap::process
