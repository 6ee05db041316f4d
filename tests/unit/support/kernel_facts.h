// What kernels below some hypervisors can't do, or do in another way.
#pragma once
#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace heaptap::test {

// False: the kernel refuses a program of 32-bit x86 that only ends as none that it knows.
inline bool kernel_runs_32_bits() {
  constexpr int kUnknownFormat = 1;
  static const bool runs = [] {
    constexpr uint32_t kAddress = 0x8048000;
    struct {
      Elf32_Ehdr head;
      Elf32_Phdr segment;
      uint8_t code[7];
    } program{.head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB, EV_CURRENT},
                       .e_type = ET_EXEC,
                       .e_machine = EM_386,
                       .e_version = EV_CURRENT,
                       .e_entry = kAddress + sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr),
                       .e_phoff = sizeof(Elf32_Ehdr),
                       .e_shoff = 0,
                       .e_flags = 0,
                       .e_ehsize = sizeof(Elf32_Ehdr),
                       .e_phentsize = sizeof(Elf32_Phdr),
                       .e_phnum = 1,
                       .e_shentsize = 0,
                       .e_shnum = 0,
                       .e_shstrndx = 0},
              .segment = {.p_type = PT_LOAD,
                          .p_offset = 0,
                          .p_vaddr = kAddress,
                          .p_paddr = kAddress,
                          .p_filesz = sizeof(program),
                          .p_memsz = sizeof(program),
                          .p_flags = PF_R | PF_X,
                          .p_align = 4096},
              .code = {0x31, 0xdb, 0x89, 0xd8, 0x40, 0xcd, 0x80}};  // exit(0)
    const int file = memfd_create("ends", 0);
    if (write(file, &program, sizeof(program)) != sizeof(program)) std::abort();
    const pid_t child = fork();
    if (child == 0) {
      char* const nothing[] = {nullptr};
      fexecve(file, nothing, nothing);
      _exit(errno == ENOEXEC ? kUnknownFormat : 2);
    }
    int status = -1;
    waitpid(child, &status, 0);
    close(file);
    return !WIFEXITED(status) || WEXITSTATUS(status) != kUnknownFormat;
  }();
  return runs;
}

// Whether the program whose name ends so can't be run here.
inline bool is_beyond_kernel(const std::string& name) { return name.ends_with("32") && !kernel_runs_32_bits(); }

#define HEAPTAP_SKIP_32_BITS() GTEST_SKIP() << "NOT TESTED: 32 bits, which this machine's kernel doesn't run"

// Whether memory that was only read has a page of its own, where other kernels have one of zeros for all.
inline bool kernel_gives_pages_to_readers() {
  const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  [[maybe_unused]] const char zero = *static_cast<volatile const char*>(memory);
  const int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  uint64_t entry = 0;
  const auto place = static_cast<off_t>(reinterpret_cast<uintptr_t>(memory) / bytes * sizeof(entry));
  const bool is_known = pread(map, &entry, sizeof(entry), place) == sizeof(entry);
  close(map);
  constexpr uint64_t kMappedOnce = uint64_t{1} << 56;
  const bool is_own = is_known && (entry & kMappedOnce) != 0;
  munmap(memory, bytes);
  return is_own;
}

}  // namespace heaptap::test
