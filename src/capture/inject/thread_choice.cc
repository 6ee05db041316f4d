#include "capture/inject/thread_choice.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "capture/inject/memory_file.h"
#include "capture/process/memory_map.h"
#include "capture/process/open_files.h"
#include "capture/process/process_status.h"
#include "common/base/process_file.h"
#include "common/base/small_file.h"
#include "common/base/unique_fd.h"

namespace heaptap::inject {
namespace {

using Clock = std::chrono::steady_clock;

bool may_end_early(const base::UniqueFd& socket) {
  timeval limit{};
  int bytes = 0;
  socklen_t size = sizeof(limit);
  if (getsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, &size) != 0) return true;
  size = sizeof(bytes);
  if (getsockopt(socket.get(), SOL_SOCKET, SO_RCVLOWAT, &bytes, &size) != 0) return true;
  return limit.tv_sec != 0 || limit.tv_usec != 0 || bytes > 1;
}

bool is_writable(pid_t thread, uint64_t address) {
  const std::vector<process::Mapping> map = process::read_memory_map(thread);
  const process::Mapping* const mapping = process::find_mapping(map, address);
  return mapping != nullptr && mapping->writable;
}

bool has_mask(pid_t thread, const ThreadPlace& place, const WaitArguments& where) {
  uint64_t mask = where.mask ? place.arguments[*where.mask] : 0;
  if (mask == 0 || !where.is_mask_indirect) return mask != 0;
  return !MemoryFile(thread).read(mask, &mask, sizeof(mask)) || mask != 0;
}

// As /proc/PID/fd names it; a pipe with a name as one without. A file system that has to ask somebody isn't asked.
std::string kind_of_file(pid_t thread, uint64_t descriptor) {
  const std::string path = base::process_file(thread, "fd/" + std::to_string(descriptor));
  struct statx status{};
  const bool is_known = statx(AT_FDCWD, path.c_str(), AT_STATX_DONT_SYNC, STATX_TYPE, &status) == 0;
  return is_known && S_ISFIFO(status.stx_mode) ? "pipe:" : base::read_link(path);
}

WaitFacts facts_of(pid_t process, pid_t thread, const ThreadPlace& place) {
  WaitFacts facts;
  if (place.kind != ThreadPlace::Kind::kInCall) return facts;
  if (const auto where = wait_arguments(place.call)) {
    const uint64_t timeout = place.arguments[where->timeout];
    facts.keeps_timeout = timeout == 0 || is_writable(thread, timeout);
    facts.has_mask = has_mask(thread, place, *where);
    return facts;
  }
  facts.file = kind_of_file(thread, place.arguments[0]);
  if (facts.file.starts_with("socket:"))
    facts.may_end_early = may_end_early(process::copy_descriptor(process, static_cast<int>(place.arguments[0])));
  return facts;
}

// A thread that can make calls now. 0: none so far.
pid_t find_thread_for_calls(pid_t process, const std::set<pid_t>& unfit) {
  pid_t best = 0;
  unsigned best_fitness = 0;
  for (const pid_t thread : process::list_threads(process)) {
    const auto status = process::read_thread_status(thread);
    if (!status || status->has_ended() || unfit.contains(thread)) continue;
    const ThreadPlace place = read_thread_place(thread);
    const unsigned fitness = fitness_for_calls(place, facts_of(process, thread, place));
    if (fitness <= best_fitness) continue;
    best = thread;
    best_fitness = fitness;
  }
  return best;
}

}  // namespace

ThreadPlace read_thread_place(pid_t thread) {
  return parse_thread_place(base::read_small_file(base::process_file(thread, "syscall"), 256));
}

pid_t wait_for_thread(pid_t process, std::chrono::milliseconds patience, const std::set<pid_t>& unfit) {
  const auto until = Clock::now() + patience;
  pid_t thread = 0;
  while ((thread = find_thread_for_calls(process, unfit)) == 0 && Clock::now() < until &&
         process::find_live_thread(process) != 0)
    usleep(100);
  return thread;
}

}  // namespace heaptap::inject
