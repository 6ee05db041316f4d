#include "capture/launch/program_check.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "capture/elf/elf_headers.h"
#include "common/arch/cpu.h"
#include "common/arch/native.h"
#include "common/base/pages.h"
#include "common/base/sizes.h"
#include "common/base/small_file.h"
#include "common/base/unique_fd.h"

namespace heaptap::launch {
namespace {

using base::ErrorKind;
using base::fail_as;

constexpr int kMaxInterpreters = 5;  // the kernel's own limit for scripts run by scripts

base::Result<std::string> search_path(const std::string& name) {
  if (name.empty()) return fail_as(ErrorKind::kNotFound, "the program's name is empty");
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  for (const std::string& directory : base::split(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin", ':')) {
    std::string candidate = (directory.empty() ? "." : directory) + "/" + name;
    struct stat status{};
    if (access(candidate.c_str(), X_OK) == 0 && stat(candidate.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      return candidate;
    }
  }
  return fail_as(ErrorKind::kNotFound, "{}: no such program in $PATH; give its path if it is elsewhere", name);
}

base::Result<> check_file(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) {
    const ErrorKind kind = errno == ENOENT || errno == ENOTDIR ? ErrorKind::kNotFound : ErrorKind::kNotExecutable;
    return fail_as(kind, "can't run {}: {}", path, base::reason_of(errno));
  }
  if (S_ISDIR(status.st_mode)) return fail_as(ErrorKind::kNotExecutable, "can't run {}: it is a directory", path);
  if (!S_ISREG(status.st_mode))
    return fail_as(ErrorKind::kNotExecutable, "can't run {}: it is not a regular file", path);
  if (access(path.c_str(), X_OK) != 0 || (status.st_mode & 0111) == 0) {
    return fail_as(ErrorKind::kNotExecutable, "can't run {}: it is not executable; make it so with: chmod +x {}", path,
                   path);
  }
  return {};
}

// The words of a script's first line: its interpreter, and possibly an argument. Empty: not a script.
std::vector<std::string> interpreter_of(const std::string& head) {
  if (!head.starts_with("#!")) return {};
  return base::words_of(std::string_view(head).substr(2, head.find('\n') - 2));
}

// Exactly "#!/usr/bin/env NAME".
bool asks_env(const std::vector<std::string>& interpreter) {
  return interpreter.size() == 2 && base::file_name_of(interpreter[0]) == "env" &&
         interpreter[1].find_first_of("-=") == std::string::npos;
}

base::Result<std::string> read_head(const std::string& path, size_t bytes) {
  errno = 0;
  std::string head = base::read_small_file(path, bytes);
  if (head.empty() && errno != 0) {
    return fail_as(ErrorKind::kNotExecutable, "can't read {} to see whether it can be recorded: {}", path,
                   base::reason_of(errno));
  }
  return head;
}

// The program's loader (PT_INTERP); empty: none, or the file is damaged.
std::string loader_of(const std::string& path) {
  constexpr size_t kMaxInterpreterBytes = 4096;
  const base::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const elf::FileBytes bytes(file.get());
  const auto headers = elf::ElfHeaders::read(bytes);
  if (!headers) return {};
  for (const elf::ElfSegment& segment : headers->segments()) {
    if (segment.type != PT_INTERP) continue;
    return elf::read_text(bytes, segment.offset, base::at_most(kMaxInterpreterBytes, segment.file_bytes));
  }
  return {};
}

// A program that gains privileges by being executed. Then the loader ignores LD_PRELOAD; and the kernel denies the
// privileges if an unprivileged process traces it, so that the program would behave differently.
base::Result<> check_privileges(const std::string& path, Program& program) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return {};  // the next check says why
  const bool changes_user = (status.st_mode & (S_ISUID | S_ISGID)) != 0 && status.st_uid != geteuid();
  const bool has_capabilities = geteuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
  if (!changes_user && !has_capabilities) return {};
  const base::Error kind = !changes_user                     ? base::make_error("has file capabilities")
                           : (status.st_mode & S_ISUID) != 0 ? base::make_error("is a setuid program")
                                                             : base::make_error("is a setgid program");
  if (geteuid() != 0) {
    return fail_as(ErrorKind::kNotExecutable,
                   "can't record {}: it {}; LD_PRELOAD is ignored for it, and traced by an ordinary user it would run "
                   "without its privileges; use sudo heaptap run --user $USER ..., or record a copy that has none "
                   "(cp {} .)",
                   path, kind.message, path);
  }
  program.takes_agent = base::fail("{}, for which LD_PRELOAD is ignored", kind.message);
  return {};
}

base::Result<> check_elf(const std::string& path, const std::string& head, Program& program) {
  if (head.size() < sizeof(Elf64_Ehdr) && head.size() < sizeof(Elf32_Ehdr)) {
    return fail_as(ErrorKind::kNotExecutable, "can't run {}: the file is cut off in the ELF header", path);
  }
  Elf64_Ehdr header{};  // its first fields are those of the 32-bit one
  std::memcpy(&header, head.data(), std::min(sizeof(header), head.size()));
  const bool is_32_bit = head[EI_CLASS] == ELFCLASS32;
  const arch::Cpu* const cpu = arch::cpu_of_elf(header.e_machine, is_32_bit ? 4 : 8);
  const bool runs_here = cpu != nullptr && (cpu->architecture() == arch::native::kArchitecture ||
                                            arch::is_traced_here(cpu->architecture()));
  if (!runs_here || cpu->is_big_endian() != (header.e_ident[EI_DATA] != ELFDATA2LSB)) {
    return fail_as(ErrorKind::kNotExecutable, "can't record {}: it is a program for another CPU (ELF machine {})", path,
                   header.e_machine);
  }
  if (is_32_bit && sizeof(void*) > 4) {
    program.takes_agent = base::fail("is a 32-bit program, and this heaptap's agent is for 64-bit ones");
    return {};
  }
  const std::string loader = loader_of(path);
  if (loader.empty()) {
    program.takes_agent = base::fail("is statically linked; LD_PRELOAD needs a dynamic program");
  } else if (!loader.ends_with(std::string("/") + arch::native::kGlibcLoader)) {
    program.takes_agent = loader.find("ld-musl") != std::string::npos
                              ? base::fail("uses musl; LD_PRELOAD needs glibc")
                              : base::fail("uses another libc (loader {}); LD_PRELOAD needs glibc", loader);
  }
  return {};
}

// The agent's state in a forked child has to be gone, or the child would write into its parent's log.
base::Result<> check_kernel_for_agent() {
  constexpr int kWipeOnFork = 18;  // MADV_WIPEONFORK, which old headers lack
  const auto bytes = static_cast<size_t>(base::page_bytes());
  void* const page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return {};
  const bool is_unknown = madvise(page, bytes, kWipeOnFork) != 0 && errno == EINVAL;
  munmap(page, bytes);
  if (!is_unknown) return {};
  return base::fail("can't be recorded by the agent on this kernel, which has no MADV_WIPEONFORK (Linux 4.14 has it)");
}

}  // namespace

base::Result<Program> find_program(const std::string& name) {
  auto path = search_path(name);
  if (!path) return std::unexpected(std::move(path).error());
  Program program{*path, {}, {}, {}};
  std::string file = *path;
  for (int depth = 0; depth < kMaxInterpreters; ++depth) {
    if (auto sound = check_file(file); !sound) {
      if (depth > 0)
        return fail_as(sound.error().kind, "can't run {}: can't run its interpreter: {}", name, sound.error().message);
      return std::unexpected(std::move(sound).error());
    }
    const auto head = read_head(file, 256);
    if (!head) return std::unexpected(head.error());
    if (head->starts_with("\177ELF")) {
      HEAPTAP_TRY(check_elf(file, *head, program));
      HEAPTAP_TRY(check_privileges(file, program));
      if (program.takes_agent) program.takes_agent = check_kernel_for_agent();
      program.file = file;
      return program;
    }
    const std::vector<std::string> interpreter = interpreter_of(*head);
    if (interpreter.empty()) {
      return fail_as(
          ErrorKind::kNotExecutable,
          "can't run {}: it is neither an ELF program nor a script that names its interpreter (#!…); if it is a "
          "shell script, run: heaptap run -- sh {}",
          file, file);
    }
    if (depth == 0 && asks_env(interpreter)) {
      const auto found = search_path(interpreter[1]);
      if (!found) return std::unexpected(found.error());
      program = {*found, {interpreter[1], file}, {}, {}};
      file = *found;
    } else {
      file = interpreter[0];
    }
  }
  return fail_as(ErrorKind::kNotExecutable, "can't run {}: too many nested interpreters that are scripts themselves",
                 name);
}

}  // namespace heaptap::launch
