// Words that a program gave to the kernel and gets back later: what epoll_wait returns with an event (epoll_data), and what
// a timer's signal carries (sigval). Programs keep a connection's object by such a word alone.
//
// Sources: proc(5), fdinfo and timers. Not told by the kernel, so not found: words of requests that io_uring or aio work on,
// of signals that wait, of message queues; what lies in pipes and sockets.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace heaptap::scan {

// Of the process that has this thread. Plain small numbers (descriptors, say) are left out.
std::vector<uint64_t> find_kernel_words(pid_t thread);
// Rings of io_uring that it has: what their requests in flight point to, the kernel tells nobody.
size_t count_rings(pid_t thread);

// The lines of /proc/PID/fdinfo/FD of an epoll instance, and of /proc/PID/timers.
void parse_epoll_words(std::string_view text, std::vector<uint64_t>& words);
void parse_timer_words(std::string_view text, std::vector<uint64_t>& words);

}  // namespace heaptap::scan
