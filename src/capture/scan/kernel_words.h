// Words that a program has passed to the kernel and gets back later: the data that epoll_wait returns with an event
// (epoll_data), and the value of a timer's signal (sigval). Programs may hold a connection's object only through such a word.
//
// Sources: proc(5), fdinfo and timers. Not available from the kernel: words in requests of io_uring or aio, in pending
// signals, in message queues, in pipes and sockets.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace heaptap::scan {

// For the process of this thread. Leaves out small numbers (such as descriptors).
std::vector<uint64_t> find_kernel_words(pid_t thread);
// Number of its io_uring rings: the kernel doesn't show what their pending requests point to.
size_t count_rings(pid_t thread);

// What a scan asks the kernel about a process.
struct KernelFacts {
  size_t rings = 0;
  std::vector<uint64_t> words;
  uint64_t first_stack_pointer = 0;  // see process::read_first_stack_pointer()
};
KernelFacts read_kernel_facts(pid_t thread);

// Parses the lines of /proc/PID/fdinfo/FD of an epoll instance, and of /proc/PID/timers.
void parse_epoll_words(std::string_view text, std::vector<uint64_t>& words);
void parse_timer_words(std::string_view text, std::vector<uint64_t>& words);

}  // namespace heaptap::scan
