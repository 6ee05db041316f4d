#include "capture/process/process_status.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>

#include "capture/process/stat_line.h"
#include "common/base/process_file.h"
#include "common/base/sizes.h"
#include "common/base/small_file.h"
#include "common/base/status_file.h"
#include "common/base/unique_fd.h"

namespace heaptap::process {
namespace {

pid_t number_of(std::string_view text) {
  pid_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// 0: no such field.
pid_t id_in(std::string_view status, std::string_view name) {
  return static_cast<pid_t>(base::status_number(status, name).value_or(0));
}

}  // namespace

std::optional<ThreadStatus> read_thread_status(pid_t thread) {
  const std::string text = base::read_small_file(base::process_file(thread, "status"));
  const std::string_view state = base::status_field(text, "State");
  if (state.empty()) return std::nullopt;
  return ThreadStatus{.state = state.front(),
                      .process = id_in(text, "Tgid"),
                      .parent = id_in(text, "PPid"),
                      .tracer = id_in(text, "TracerPid")};
}

std::vector<pid_t> list_children(pid_t process, pid_t thread) {
  const std::string path = base::process_file(process, "task/" + std::to_string(thread) + "/children");
  std::vector<pid_t> children;
  for (const std::string& word : base::words_of(base::read_small_file(path))) {
    children.push_back(number_of(word));
  }
  return children;
}

std::optional<bool> share_memory(pid_t a, pid_t b) {
  const long differ = syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0);
  return differ < 0 ? std::nullopt : std::optional(differ == 0);
}

namespace {

uint32_t count_filters_in(const std::string& status_path) {
  constexpr uint64_t kFilterMode = 2;
  const std::string text = base::read_small_file(status_path);
  if (base::status_number(text, "Seccomp") != kFilterMode) return 0;
  return static_cast<uint32_t>(std::max<uint64_t>(base::status_number(text, "Seccomp_filters").value_or(1), 1));
}

}  // namespace

uint32_t count_filters(pid_t thread) { return count_filters_in(base::process_file(thread, "status")); }

uint32_t count_own_filters() { return count_filters_in("/proc/self/status"); }

namespace {

std::vector<pid_t> try_to_list_threads(pid_t process) {
  std::vector<pid_t> threads;
  DIR* directory = opendir(base::process_file(process, "task").c_str());
  if (directory == nullptr) return threads;
  while (const dirent* entry = readdir(directory)) {
    const pid_t thread = number_of(entry->d_name);
    if (thread > 0) threads.push_back(thread);
  }
  closedir(directory);
  return threads;
}

size_t count_threads(pid_t process) {
  const std::string text = base::read_small_file(base::process_file(process, "status"), 8192);
  return base::at_most(SIZE_MAX, base::status_number(text, "Threads").value_or(0));
}

// An exiting thread loses its memory and program some time before its state says so.
bool has_program(pid_t thread) {
  char first = 0;
  const std::string link = base::process_file(thread, "exe");
  return readlink(link.c_str(), &first, 1) >= 0 || errno == EACCES || errno == EPERM;
}

}  // namespace

// A thread that ends while the kernel lists it cuts the list short (fs/proc/base.c, proc_task_readdir), so the length
// is checked.
std::vector<pid_t> list_threads(pid_t process) {
  constexpr int kMaxTries = 50;
  std::vector<pid_t> threads;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    threads = try_to_list_threads(process);
    if (threads.size() >= count_threads(process)) break;
  }
  return threads;
}

pid_t find_live_thread(pid_t process) {
  const auto lives = [](pid_t thread) {
    const auto status = read_thread_status(thread);
    return status && !status->has_ended() && has_program(thread);
  };
  if (lives(process)) return process;
  for (const pid_t thread : list_threads(process)) {
    if (lives(thread)) return thread;
  }
  return 0;
}

uint64_t read_first_stack_pointer(pid_t thread) {
  return StatLine::of(thread).number(StatLine::kStartStack).value_or(0);
}

uint64_t read_start_time(pid_t thread) { return StatLine::of(thread).number(StatLine::kStartTime).value_or(0); }

namespace {

// The thread's number in its innermost PID namespace. 0: unknown, or the same as here.
uint32_t read_own_number(pid_t thread) {
  const std::string text = base::read_small_file(base::process_file(thread, "status"));
  const std::string_view numbers = base::status_field(text, "NSpid");
  const size_t last = numbers.find_last_of(" \t");
  return last == numbers.npos ? 0 : static_cast<uint32_t>(number_of(numbers.substr(last + 1)));
}

}  // namespace

std::map<uint32_t, uint32_t> read_thread_numbers(pid_t process) {
  std::map<uint32_t, uint32_t> ours;
  const pid_t first = find_live_thread(process);
  if (first == 0 || read_own_number(first) == 0) return ours;
  for (const pid_t thread : list_threads(process)) {
    if (const uint32_t own = read_own_number(thread); own != 0) ours[own] = static_cast<uint32_t>(thread);
  }
  return ours;
}

std::optional<KernelPlace> read_kernel_place(pid_t thread) {
  const std::string text = base::read_small_file(base::process_file(thread, "syscall"));
  // "NUMBER ARG1 … ARG6 SP PC", or "-1 SP PC" outside of system calls, or "running".
  KernelPlace place{};
  std::string_view rest(text);
  while (rest.ends_with('\n')) rest.remove_suffix(1);
  for (uint64_t* const value : {&place.program_counter, &place.stack_pointer}) {
    const size_t blank = rest.rfind(" 0x");
    if (blank == std::string_view::npos) return std::nullopt;
    const std::string_view digits = rest.substr(blank + 3);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *value, 16);
    if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    rest = rest.substr(0, blank);
  }
  return place;
}

}  // namespace heaptap::process
