#include "agent/preload/exec_check.h"

#include <elf.h>
#include <linux/fcntl.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/kernel.h"
#include "agent/core/string.h"
#include "agent/preload/exec_names.h"
#include "agent/preload/exec_program.h"

namespace heaptap::agent {
namespace {

using wire::ExecOutcome;

constexpr int kMaxInterpreters = 5;  // the kernel's own limit for scripts run by scripts
constexpr size_t kPathBytes = 1024;

// The kernel's struct stat on x86-64 and AArch64 differ; statx is the same everywhere.
struct FileFacts {
  uint32_t mask, block_bytes;
  uint64_t attributes;
  uint32_t links, user, group;
  uint16_t mode, spare;
  uint64_t more[28];
};
static_assert(sizeof(FileFacts) == 256);

constexpr uint16_t kTypeMask = 0170000;
constexpr uint16_t kRegular = 0100000;
constexpr uint16_t kSetUser = 04000;
constexpr uint16_t kSetGroup = 02000;
constexpr uint16_t kAnyoneExecutes = 0111;
constexpr long kEmptyPath = 0x1000;  // AT_EMPTY_PATH

bool ask_facts(int directory, const char* path, FileFacts& facts) {
  constexpr long kBasicFacts = 0x7ff;
  return !kernel::failed(kernel::system_call(__NR_statx, directory, reinterpret_cast<long>(path),
                                             path[0] == '\0' ? kEmptyPath : 0, kBasicFacts,
                                             reinterpret_cast<long>(&facts)));
}

// Whether this process would gain privileges by executing it: the loader then ignores LD_PRELOAD.
bool gets_privileges(const Program& program, const FileFacts& facts) {
  const long user = kernel::system_call(__NR_geteuid);
  if ((facts.mode & kSetUser) != 0 && static_cast<long>(facts.user) != user) return true;
  if ((facts.mode & kSetGroup) != 0 && static_cast<long>(facts.group) != kernel::system_call(__NR_getegid)) return true;
  return user != 0 && program.has_capabilities();
}

// The kind of loading, from the program headers.
struct Segments {
  ElfW(Phdr) loader {};
  ElfW(Phdr) dynamic {};
};

__attribute__((noinline)) Segments find_segments(const Program& program, const ElfW(Ehdr) & header) {
  Segments found;
  visit_segments(program, header, [&](const ElfW(Phdr) & segment) {
    if (segment.p_type == PT_INTERP) found.loader = segment;
    if (segment.p_type == PT_DYNAMIC) found.dynamic = segment;
  });
  return found;
}

bool is_glibc_loader(const Program& program, const ElfW(Phdr) & loader) {
  char end[1 + sizeof(arch::native::kGlibcLoader)];  // with a slash before it
  return loader.p_filesz >= sizeof(end) &&
         program.read(loader.p_offset + loader.p_filesz - sizeof(end), end, sizeof(end)) == sizeof(end) &&
         end[0] == '/' && equal(end + 1, arch::native::kGlibcLoader);
}

constexpr unsigned char kOwnClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;

ExecOutcome check_elf(const Program& program, const FileFacts& facts, const ElfW(Ehdr) & header) {
  if (header.e_ident[EI_CLASS] != kOwnClass || header.e_machine != wire::elf_machine_of(arch::native::kArchitecture) ||
      header.e_phentsize != sizeof(ElfW(Phdr))) {
    return ExecOutcome::kOtherMachine;
  }
  const Segments found = find_segments(program, header);
  if (found.loader.p_filesz == 0) return ExecOutcome::kStatic;
  if (!is_glibc_loader(program, found.loader)) return ExecOutcome::kOtherLoader;
  if (gets_privileges(program, facts)) return ExecOutcome::kPrivileged;
  return names_a_sanitizer(program, header, found.dynamic) ? ExecOutcome::kSanitizer : ExecOutcome::kHandedOn;
}

// Puts the interpreter of a script's first line into `path`.
bool take_interpreter(const char* head, char* path) {
  size_t at = 2;
  while (head[at] == ' ' || head[at] == '\t') ++at;
  size_t length = 0;
  for (; head[at] > ' ' && length + 1 < kPathBytes; ++at) path[length++] = head[at];
  path[length] = '\0';
  return length != 0 && head[at] != '\0';
}

// `path` is replaced by the interpreters found.
ExecOutcome check_file(const ExecFile& file, char* path) {
  constexpr char kShell[] = "/bin/sh";
  Program program;
  int directory = file.directory;
  for (int depth = 0; depth < kMaxInterpreters; ++depth) {
    FileFacts facts;
    if (file.elsewhere && path[0] != '/') return ExecOutcome::kEnvironment;
    if (!ask_facts(directory, path, facts) || (facts.mode & kTypeMask) != kRegular || !program.open(directory, path)) {
      return ExecOutcome::kUnreadable;
    }
    union {
      ElfW(Ehdr) header;
      char text[256 + 1];
    } head;
    head.text[program.read(0, head.text, sizeof(head.text) - 1)] = '\0';
    if (starts_with(head.text, ELFMAG)) return check_elf(program, facts, head.header);
    if (starts_with(head.text, "#!")) {
      if (!take_interpreter(head.text, path)) return ExecOutcome::kUnreadable;
    } else if (file.searched && depth == 0) {
      copy_bytes(path, kShell, sizeof(kShell));
    } else {
      return ExecOutcome::kUnreadable;
    }
    directory = AT_FDCWD;
  }
  return ExecOutcome::kUnreadable;
}

const char* search_path(char* const* environment) {
  for (char* const* entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    if (starts_with(*entry, "PATH=")) return *entry + sizeof("PATH=") - 1;
  }
  return "/bin:/usr/bin";
}

bool has_slash(const char* text) { return file_name_of(text) != text; }

bool has_relative_directory(const char* directories) {
  for (const char* at = directories;; ++at) {
    if ((at == directories || at[-1] == ':') && *at != '/') return true;
    if (*at == '\0') return false;
  }
}

// Finds the file as the C library does. False: none, or its name is too long.
bool find_in_path(const char* name, const char* directories, char* path) {
  const size_t length = length_of(name);
  while (true) {
    size_t directory = 0;
    while (directories[directory] != '\0' && directories[directory] != ':') ++directory;
    if (directory + length + 2 > kPathBytes) return false;
    copy_bytes(path, directories, directory);
    if (directory != 0) path[directory] = '/';
    copy_bytes(path + directory + (directory != 0 ? 1 : 0), name, length + 1);
    FileFacts facts;
    if (ask_facts(AT_FDCWD, path, facts) && (facts.mode & kTypeMask) == kRegular &&
        (facts.mode & kAnyoneExecutes) != 0) {
      return true;
    }
    if (directories[directory] == '\0') return false;
    directories += directory + 1;
  }
}

}  // namespace

__attribute__((noinline)) ExecOutcome check_exec(const ExecFile& file, char* const* environment) {
  char path[kPathBytes];
  const size_t length = length_of(file.path);
  if (length >= sizeof(path)) return ExecOutcome::kUnreadable;
  if (file.searched && !has_slash(file.path)) {
    const char* const directories = search_path(environment);
    if (file.elsewhere && has_relative_directory(directories)) return ExecOutcome::kEnvironment;
    if (!find_in_path(file.path, directories, path)) return ExecOutcome::kUnreadable;
  } else {
    copy_bytes(path, file.path, length + 1);
  }
  return check_file(file, path);
}

bool has_one_thread() {
  constexpr uint32_t kDirectoriesOfOneThread = 3;  // ".", "..", and the thread's
  FileFacts facts;
  return ask_facts(AT_FDCWD, "/proc/self/task", facts) && facts.links == kDirectoriesOfOneThread;
}

}  // namespace heaptap::agent
