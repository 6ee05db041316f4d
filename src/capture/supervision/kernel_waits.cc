#include "capture/supervision/kernel_waits.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "capture/process/process_status.h"
#include "common/base/bounded_calls.h"
#include "common/base/small_file.h"

namespace heaptap::supervision {
namespace {

std::string own_line(pid_t process, pid_t thread, const char* name) {
  std::string text = base::read_small_file(fmt::format("/proc/{}/task/{}/{}", process, thread, name), 256);
  return std::string(base::trimmed(text));
}

// "D", or a thread in a request to a file server, which a signal doesn't interrupt either (fs/fuse/dev.c).
bool is_blocked(pid_t process, pid_t thread) {
  const auto status = process::read_thread_status(thread);
  if (!status) return false;
  return status->state == 'D' || (status->state == 'S' && own_line(process, thread, "wchan") == "request_wait_answer");
}

uint64_t number_of(const std::string& word) {
  const bool is_hexadecimal = word.starts_with("0x");
  uint64_t number = 0;
  std::from_chars(word.data() + (is_hexadecimal ? 2 : 0), word.data() + word.size(), number, is_hexadecimal ? 16 : 10);
  return number;
}

// Path argument of a blocked system call in this process. Read through the kernel, since the call may have ended.
std::string text_at(uintptr_t address) {
  std::array<char, 1024> text{};
  const iovec here{text.data(), text.size()};
  const iovec there{reinterpret_cast<void*>(address), text.size()};
  const ssize_t got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
  const std::string_view all(text.data(), static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return std::string(all.substr(0, std::min(all.find('\0'), all.size())));
}

// proc(5), syscall: "number argument…".
std::string file_of_call(pid_t thread) {
  const std::vector<std::string> words = base::words_of(own_line(getpid(), thread, "syscall"));
  if (words.size() < 3) return {};
  const uint64_t call = number_of(words[0]);
  if (call == SYS_openat) return text_at(static_cast<uintptr_t>(number_of(words[2])));
#ifdef SYS_ftruncate64
  constexpr uint64_t kTruncate = SYS_ftruncate64;
#else
  constexpr uint64_t kTruncate = SYS_ftruncate;
#endif
  constexpr std::array<uint64_t, 7> kOfDescriptors{SYS_read,  SYS_pread64, SYS_write, SYS_pwrite64,
                                                   SYS_fsync, SYS_close,   kTruncate};
  if (std::ranges::find(kOfDescriptors, call) == kOfDescriptors.end()) return {};
  return base::read_link(fmt::format("/proc/self/fd/{}", number_of(words[1])));
}

}  // namespace

std::vector<StandingThread> KernelWaits::look(Clock::time_point now) {
  looked_at_ = now;
  std::map<pid_t, KernelWait> before = std::exchange(threads_, {});
  std::vector<StandingThread> found;
  for (const pid_t thread : process::list_threads(process_)) {
    KernelWait& wait = threads_[thread] = before[thread];
    if (!wait.look(now, is_blocked(process_, thread))) continue;
    StandingThread standing{.thread = thread};
    standing.looks = own_line(process_, thread, "comm") == base::BoundedCalls::kThreadName;
    standing.place = own_line(process_, thread, "wchan");
    if (standing.place == "0") standing.place.clear();
    if (process_ == getpid()) standing.file = file_of_call(thread);
    found.push_back(std::move(standing));
  }
  return found;
}

}  // namespace heaptap::supervision
