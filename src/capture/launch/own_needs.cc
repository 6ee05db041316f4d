#include "capture/launch/own_needs.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>

#include "common/arch/native.h"

namespace heaptap::launch {
namespace {

// A small log: memory that is shared with the program counts as a file.
constexpr rlim_t kNeededFileBytes = rlim_t{4} << 20;
// Logs, tables and threads of a short recording; a longer one may need more.
constexpr size_t kNeededBytes = size_t{256} << 20;

std::optional<std::string> limit_in_the_way() {
  rlimit space{};
  rlimit data{};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_max != RLIM_INFINITY) {
    return fmt::format("ulimit -v {}", space.rlim_max / 1024);
  }
  if (getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_max != RLIM_INFINITY) {
    return fmt::format("ulimit -d {}", data.rlim_max / 1024);
  }
  return std::nullopt;
}

// A thread that allocates nothing: the C library would give it an arena, which forked children would keep.
base::Result<> check_threads() {
  pthread_t thread{};
  const int error = pthread_create(&thread, nullptr, [](void*) -> void* { return nullptr; }, nullptr);
  if (error == 0) {
    pthread_join(thread, nullptr);
    return {};
  }
  if (error != EPERM) return base::fail("heaptap can't create threads: {}", base::reason_of(error));
  return base::fail(
      "no program can create threads here: a system call filter answers clone3 with EPERM, as older container runtimes "
      "do: use a newer one, which answers ENOSYS (Docker 20.10.10, libseccomp 2.5.0, or later), or run heaptap "
      "outside");
}

}  // namespace

base::Result<> check_own_cpu() {
  if (arch::native::kArchitecture != wire::Architecture::kUnknown) return {};
  utsname machine{};
  uname(&machine);
  return base::fail("programs can't be recorded on this CPU yet ({})", static_cast<const char*>(machine.machine));
}

base::Result<> check_own_needs() {
  if (access("/proc/self/maps", R_OK) != 0) {
    return base::fail("/proc is not mounted, and heaptap needs it: mount -t proc proc /proc");
  }
  rlimit file{};
  if (getrlimit(RLIMIT_FSIZE, &file) == 0 && file.rlim_cur < kNeededFileBytes) {
    return base::fail(
        "the limit on file size (ulimit -f) is {} bytes, and the memory that heaptap shares with the program counts as "
        "a file of at least {}: set the limit for the program only: heaptap run -- sh -c 'ulimit -f ...; exec PROGRAM'",
        file.rlim_cur, kNeededFileBytes);
  }
  void* const memory =
      mmap(nullptr, kNeededBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return base::fail(
        "not enough memory for heaptap itself ({}: {}): give heaptap more, and set the limit for the program only: "
        "heaptap run -- sh -c 'ulimit ...; exec PROGRAM'",
        limit_in_the_way().value_or("the machine's memory"), base::reason_of(errno));
  }
  munmap(memory, kNeededBytes);
  return check_threads();  // without memory this would fail, too
}

}  // namespace heaptap::launch
