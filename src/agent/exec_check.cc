#include "agent/exec_check.h"

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/kernel.h"
#include "agent/words.h"

namespace heaptap::agent {
namespace {

using wire::ExecOutcome;

constexpr int kWorkingFolder = -100;  // AT_FDCWD
constexpr int kMostInterpreters = 5;  // the kernel's own limit for scripts run by scripts
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

bool ask_facts(int folder, const char* path, FileFacts& facts) {
  constexpr long kBasicFacts = 0x7ff;
  return !kernel::failed(kernel::system_call(__NR_statx, folder, reinterpret_cast<long>(path),
                                             path[0] == '\0' ? kEmptyPath : 0, kBasicFacts,
                                             reinterpret_cast<long>(&facts)));
}

// An executable that is open to be read.
class Program {
 public:
  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (is_own_) kernel::close(descriptor_);
  }

  bool open(int folder, const char* path) {
    if (is_own_) kernel::close(descriptor_);
    is_own_ = path[0] != '\0';
    descriptor_ = is_own_ ? static_cast<int>(kernel::system_call(__NR_openat, folder, reinterpret_cast<long>(path),
                                                                 0x80000 | 0x800 /* CLOEXEC | NONBLOCK */))
                          : folder;
    is_own_ = is_own_ && descriptor_ >= 0;
    return descriptor_ >= 0;
  }
  // How many bytes there were.
  size_t read(uint64_t offset, void* buffer, size_t bytes) const {
    const long got = kernel::system_call(__NR_pread64, descriptor_, reinterpret_cast<long>(buffer),
                                         static_cast<long>(bytes), static_cast<long>(offset));
    return kernel::failed(got) ? 0 : static_cast<size_t>(got);
  }
  [[nodiscard]] bool has_capabilities() const {
    return kernel::system_call(__NR_fgetxattr, descriptor_, reinterpret_cast<long>("security.capability"), 0, 0) > 0;
  }

 private:
  int descriptor_ = -1;
  bool is_own_ = false;
};

// Executed by this process it would have rights that its loader lets no environment interfere with.
bool gets_privileges(const Program& program, const FileFacts& facts) {
  const long user = kernel::system_call(__NR_geteuid);
  if ((facts.mode & kSetUser) != 0 && static_cast<long>(facts.user) != user) return true;
  if ((facts.mode & kSetGroup) != 0 && static_cast<long>(facts.group) != kernel::system_call(__NR_getegid)) return true;
  return user != 0 && program.has_capabilities();
}

// Where the parts of an ELF file are that say how it is loaded.
struct Segments {
  Elf64_Phdr loader{};
  Elf64_Phdr dynamic{};
  Elf64_Phdr strings{};  // the loaded one that holds strings_at
  uint64_t strings_at = 0;
  uint64_t string_bytes = 0;
};

// Reads up to `most` entries of a table in the file, a few at a time, for as long as the visitor returns true.
template <typename Entry, typename Visitor>
void visit_table(const Program& program, uint64_t start, uint64_t most, Visitor visit) {
  constexpr uint64_t kFew = 16;
  Entry entries[kFew];
  for (uint64_t first = 0; first < most; first += kFew) {
    const uint64_t wanted = most - first < kFew ? most - first : kFew;
    const size_t got = program.read(start + first * sizeof(Entry), entries, wanted * sizeof(Entry)) / sizeof(Entry);
    for (size_t i = 0; i < got; ++i) {
      if (!visit(entries[i])) return;
    }
    if (got < wanted) return;
  }
}

__attribute__((noinline)) void visit_segments(const Program& program, const Elf64_Ehdr& header, Segments& found) {
  constexpr uint64_t kMostSegments = 128;
  const uint64_t most = header.e_phnum < kMostSegments ? header.e_phnum : kMostSegments;
  visit_table<Elf64_Phdr>(program, header.e_phoff, most, [&](const Elf64_Phdr& segment) {
    if (segment.p_type == PT_INTERP) found.loader = segment;
    if (segment.p_type == PT_DYNAMIC) found.dynamic = segment;
    if (segment.p_type == PT_LOAD && found.strings_at - segment.p_vaddr < segment.p_filesz) found.strings = segment;
    return true;
  });
}

bool is_glibc_loader(const Program& program, const Elf64_Phdr& loader) {
  constexpr char kLoader[] = "/ld-linux-x86-64.so.2";
  char end[sizeof(kLoader)];
  return loader.p_filesz >= sizeof(end) &&
         program.read(loader.p_offset + loader.p_filesz - sizeof(end), end, sizeof(end)) == sizeof(end) &&
         equal(end, kLoader);
}

void find_strings(const Program& program, const Elf64_Ehdr& header, Segments& found) {
  constexpr uint64_t kMostEntries = 4096;
  const uint64_t count = found.dynamic.p_filesz / sizeof(Elf64_Dyn);
  const uint64_t most = count < kMostEntries ? count : kMostEntries;
  visit_table<Elf64_Dyn>(program, found.dynamic.p_offset, most, [&](const Elf64_Dyn& entry) {
    if (entry.d_tag == DT_STRTAB) found.strings_at = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRSZ) found.string_bytes = entry.d_un.d_val;
    return entry.d_tag != DT_NULL;
  });
  if (found.strings_at != 0) visit_segments(program, header, found);
}

// A sanitizer's run-time library wants to be the first, and dies where it isn't.
bool names_a_sanitizer(const char* text) {
  constexpr const char* kMarks[] = {"__asan_init", "__tsan_init", "__msan_init", "__lsan_init",  "__hwasan_init",
                                    "libasan.so",  "libtsan.so",  "liblsan.so",  "libhwasan.so", "libclang_rt."};
  for (const char* mark : kMarks) {
    if (starts_with(text, mark)) return true;
  }
  return false;
}

// Among the names that it needs and offers. Too many of them to be read here and now: nobody knows.
ExecOutcome check_names(const Program& program, const Elf64_Ehdr& header, Segments& found) {
  constexpr size_t kLongestMark = 16;
  constexpr uint64_t kMostBytes = 1u << 20;
  find_strings(program, header, found);
  if (found.strings.p_filesz == 0) return ExecOutcome::kHandedOn;
  if (found.string_bytes > kMostBytes) return ExecOutcome::kSurroundings;
  const uint64_t start = found.strings.p_offset + (found.strings_at - found.strings.p_vaddr);
  char window[1024 + 1];
  for (uint64_t at = 0; at < found.string_bytes; at += sizeof(window) - 1 - kLongestMark) {
    const size_t got = program.read(start + at, window, sizeof(window) - 1);
    window[got] = '\0';
    for (size_t i = 0; i < got; ++i) {
      if ((window[i] == '_' || window[i] == 'l') && names_a_sanitizer(window + i)) return ExecOutcome::kSanitizer;
    }
    if (got < sizeof(window) - 1) break;
  }
  return ExecOutcome::kHandedOn;
}

ExecOutcome check_elf(const Program& program, const FileFacts& facts, const Elf64_Ehdr& header) {
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64 ||
      header.e_phentsize != sizeof(Elf64_Phdr)) {
    return ExecOutcome::kOtherMachine;
  }
  Segments found;
  visit_segments(program, header, found);
  if (found.loader.p_filesz == 0) return ExecOutcome::kStatic;
  if (!is_glibc_loader(program, found.loader)) return ExecOutcome::kOtherLoader;
  if (gets_privileges(program, facts)) return ExecOutcome::kPrivileged;
  found.strings = {};
  return check_names(program, header, found);
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

// `path` is changed to the interpreters' that are found on the way.
ExecOutcome check_file(const ExecFile& file, char* path) {
  constexpr char kShell[] = "/bin/sh";
  Program program;
  int folder = file.folder;
  for (int depth = 0; depth < kMostInterpreters; ++depth) {
    FileFacts facts;
    if (file.elsewhere && path[0] != '/') return ExecOutcome::kSurroundings;
    if (!ask_facts(folder, path, facts) || (facts.mode & kTypeMask) != kRegular || !program.open(folder, path)) {
      return ExecOutcome::kUnreadable;
    }
    union {
      Elf64_Ehdr header;
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
    folder = kWorkingFolder;
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

bool has_relative_folder(const char* folders) {
  for (const char* at = folders;; ++at) {
    if ((at == folders || at[-1] == ':') && *at != '/') return true;
    if (*at == '\0') return false;
  }
}

// The file that is meant, as the C library looks for it. False: none, or a name that is too long.
bool find_in_path(const char* name, const char* folders, char* path) {
  const size_t length = length_of(name);
  while (true) {
    size_t folder = 0;
    while (folders[folder] != '\0' && folders[folder] != ':') ++folder;
    if (folder + length + 2 > kPathBytes) return false;
    copy_bytes(path, folders, folder);
    if (folder != 0) path[folder] = '/';
    copy_bytes(path + folder + (folder != 0 ? 1 : 0), name, length + 1);
    FileFacts facts;
    if (ask_facts(kWorkingFolder, path, facts) && (facts.mode & kTypeMask) == kRegular &&
        (facts.mode & kAnyoneExecutes) != 0) {
      return true;
    }
    if (folders[folder] == '\0') return false;
    folders += folder + 1;
  }
}

}  // namespace

__attribute__((noinline)) ExecOutcome check_exec(const ExecFile& file, char* const* environment) {
  char path[kPathBytes];
  const size_t length = length_of(file.path);
  if (length >= sizeof(path)) return ExecOutcome::kUnreadable;
  if (file.searched && !has_slash(file.path)) {
    const char* const folders = search_path(environment);
    if (file.elsewhere && has_relative_folder(folders)) return ExecOutcome::kSurroundings;
    if (!find_in_path(file.path, folders, path)) return ExecOutcome::kUnreadable;
  } else {
    copy_bytes(path, file.path, length + 1);
  }
  return check_file(file, path);
}

bool has_one_thread() {
  constexpr uint32_t kFoldersOfOneThread = 3;  // ".", "..", and the thread's
  FileFacts facts;
  return ask_facts(kWorkingFolder, "/proc/self/task", facts) && facts.links == kFoldersOfOneThread;
}

}  // namespace heaptap::agent
