#include "capture/process/open_files.h"

#include <dirent.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "common/base/process_file.h"

namespace heaptap::process {

bool any_open(pid_t live_thread, const std::function<bool(const char* number, std::string_view target)>& is_meant) {
  const std::unique_ptr<DIR, int (*)(DIR*)> files(opendir(base::process_file(live_thread, "fd").c_str()), closedir);
  while (const dirent* const file = files ? readdir(files.get()) : nullptr) {
    std::array<char, PATH_MAX> target;
    const ssize_t bytes = readlinkat(dirfd(files.get()), file->d_name, target.data(), target.size());
    if (bytes > 0 && is_meant(file->d_name, {target.data(), static_cast<size_t>(bytes)})) return true;
  }
  return false;
}

bool has_open(pid_t live_thread, std::string_view ending) {
  return any_open(live_thread, [ending](const char*, std::string_view target) { return target.ends_with(ending); });
}

base::UniqueFd copy_descriptor(pid_t process, int number) {
  const base::UniqueFd handle(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  if (!handle) return {};
  return base::UniqueFd(static_cast<int>(syscall(SYS_pidfd_getfd, handle.get(), number, 0)));
}

}  // namespace heaptap::process
