#include "apps/heaptap/doctor/machine_facts.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "capture/elf/debug_file.h"
#include "capture/elf/elf_headers.h"
#include "capture/elf/object_file.h"
#include "capture/process/process_status.h"
#include "capture/process/stopped_process.h"
#include "common/base/own_limits.h"
#include "common/base/own_loader.h"
#include "common/base/pages.h"
#include "common/base/small_file.h"
#include "common/base/status_file.h"
#include "common/base/unique_fd.h"
#include "common/base/wait_status.h"

namespace heaptap::app {
namespace {

void read_privileges(const std::string& root, MachineFacts& facts) {
  constexpr unsigned kCapSysPtrace = 19;
  constexpr int kCapabilitiesBase = 16;
  const std::string scope = base::read_small_file(root + "/proc/sys/kernel/yama/ptrace_scope", 16);
  if (!scope.empty()) facts.ptrace_scope = std::atoi(scope.c_str());
  const std::string status = base::read_small_file(root + "/proc/self/status", 65536);
  facts.may_trace_all =
      (base::status_number(status, "CapEff", kCapabilitiesBase).value_or(0) >> kCapSysPtrace & 1) != 0;
  facts.no_new_privileges = base::status_field(status, "NoNewPrivs") == "1";
  facts.has_filter = base::status_field(status, "Seccomp") == "2";
  facts.is_root = geteuid() == 0;
}

bool has_command(const std::string& root, const std::string& name) {
  for (const char* directory : {"/usr/bin/", "/bin/", "/usr/sbin/", "/usr/local/bin/"}) {
    if (access(fmt::format("{}{}{}", root, directory, name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

void read_commands(const std::string& root, MachineFacts& facts) {
  facts.has_sudo = has_command(root, "sudo");
  facts.has_debuginfod_find = has_command(root, "debuginfod-find");
  for (const char* tool : {"apt-get", "dnf", "zypper", "pacman"}) {
    if (!has_command(root, tool)) continue;
    facts.package_tool = tool;
    break;
  }
}

// The C library of most programs here: the one that heaptap itself is linked with, where it isn't static. Empty: not found.
base::UniqueFd open_libc() {
  Dl_info libc{};
  if (base::has_loader()) {
    if (dladdr(reinterpret_cast<void*>(&gnu_get_libc_version), &libc) == 0) return {};
    return base::UniqueFd(open(libc.dli_fname, O_RDONLY | O_CLOEXEC));
  }
  base::UniqueFd file;
  for (const char* const path : {"/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6",
                                 "/lib64/libc.so.6", "/usr/lib/libc.so.6"}) {
    if (!file) file = base::UniqueFd(open(path, O_RDONLY | O_CLOEXEC));
  }
  return file;
}

bool has_libc_debug(const std::string& root) {
  const base::UniqueFd file = open_libc();
  if (!file) return false;
  const std::vector<uint8_t> build_id = elf::read_build_id(elf::FileBytes(file.get()));
  return !build_id.empty() && access((root + elf::debug_path_of(build_id)).c_str(), R_OK) == 0;
}

std::optional<uint64_t> limit_of(rlim_t limit) {
  return limit == RLIM_INFINITY ? std::nullopt : std::optional<uint64_t>(limit);
}

void read_limits(MachineFacts& facts) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0) facts.file_bytes = limit_of(limit.rlim_cur);
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) facts.open_files = limit_of(limit.rlim_cur);
  facts.space_bytes = limit_of(base::own_limits::of_program(RLIMIT_AS).rlim_cur);
  struct statvfs disk{};
  if (statvfs(".", &disk) == 0) facts.free_bytes = uint64_t{disk.f_bavail} * disk.f_frsize;
}

// A child that is killed when this process ends.
class Child {
 public:
  template <typename Work>
  explicit Child(const Work& work) {
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent) work();
    _exit(0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    (void)base::wait_for(pid_);
  }

  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

// Whether the file's code may be executed here, for a program that can't load it.
base::Result<> try_mapping(const std::string& path) {
  const base::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0) return base::fail("{}: {}", path, base::reason_of(errno));
  if (status.st_size < SELFMAG) return base::fail("{}: file too short", path);
  const auto page = static_cast<size_t>(base::page_bytes());
  void* const mapped = mmap(nullptr, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0);
  if (mapped == MAP_FAILED) return base::fail("{}: can't be mapped as code: {}", path, base::reason_of(errno));
  const bool is_object = std::memcmp(mapped, ELFMAG, SELFMAG) == 0;
  (void)munmap(mapped, page);
  if (!is_object) return base::fail("{}: invalid ELF header", path);
  return {};
}

}  // namespace

MachineFacts read_machine_facts(const std::string& root) {
  MachineFacts facts;
  read_privileges(root, facts);
  read_commands(root, facts);
  facts.has_libc_debug = has_libc_debug(root);
  facts.loads_libraries = base::has_loader();
  if (const char* servers = std::getenv("DEBUGINFOD_URLS")) facts.debuginfod_servers = servers;
  read_limits(facts);
  return facts;
}

base::Result<> try_tracing() {
  const Child child([] {
    while (true) pause();
  });
  if (child.pid() < 0) return base::fail("can't start a process: {}", base::reason_of(errno));
  const auto stopped = process::StoppedProcess::stop(child.pid());
  if (!stopped) return std::unexpected(stopped.error());
  return {};
}

base::Result<> try_agent(const std::string& path) {
  if (!base::has_loader()) return try_mapping(path);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return base::fail("can't make a pipe: {}", base::reason_of(errno));
  const base::UniqueFd reading(ends[0]);
  base::UniqueFd writing(ends[1]);
  const Child child([&] {
    if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return;
    const char* const reason = dlerror();
    if (write(writing.get(), reason, std::strlen(reason)) < 0) _exit(1);
  });
  if (child.pid() < 0) return base::fail("can't start a process: {}", base::reason_of(errno));
  writing.reset();
  std::array<char, 1024> reason{};
  const ssize_t length = read(reading.get(), reason.data(), reason.size());
  if (length > 0) return base::fail("{}", std::string_view(reason.data(), static_cast<size_t>(length)));
  return {};
}

}  // namespace heaptap::app
