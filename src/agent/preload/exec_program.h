// Executable file of a program about to be executed, read a few bytes at a time: no allocation, little stack.
#pragma once
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/kernel.h"

namespace heaptap::agent {

// Executable open for reading.
class Program {
 public:
  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (is_own_) kernel::close(descriptor_);
  }

  bool open(int directory, const char* path) {
    if (is_own_) kernel::close(descriptor_);
    is_own_ = path[0] != '\0';
    descriptor_ = is_own_ ? static_cast<int>(kernel::system_call(__NR_openat, directory, reinterpret_cast<long>(path),
                                                                 0x80000 | 0x800 /* CLOEXEC | NONBLOCK */))
                          : directory;
    is_own_ = is_own_ && descriptor_ >= 0;
    return descriptor_ >= 0;
  }
  // Returns the number of bytes read.
  size_t read(uint64_t offset, void* buffer, size_t bytes) const {
    const long got = kernel::read_at(descriptor_, buffer, bytes, offset);
    return kernel::failed(got) ? 0 : static_cast<size_t>(got);
  }
  [[nodiscard]] bool has_capabilities() const {
    return kernel::system_call(__NR_fgetxattr, descriptor_, reinterpret_cast<long>("security.capability"), 0, 0) > 0;
  }

 private:
  int descriptor_ = -1;
  bool is_own_ = false;
};

// Reads up to `most` entries of a table in the file, a few at a time, while the visitor returns true.
template <typename Entry, typename Visitor>
void visit_table(const Program& program, uint64_t start, uint64_t most, Visitor visit) {
  constexpr uint64_t kFew = 7;
  Entry entries[kFew];
  for (uint64_t first = 0; first < most; first += kFew) {
    const uint64_t wanted = most - first < kFew ? most - first : kFew;
    const size_t got =
        program.read(start + first * sizeof(Entry), entries, static_cast<size_t>(wanted) * sizeof(Entry)) /
        sizeof(Entry);
    for (size_t i = 0; i < got; ++i) {
      if (!visit(entries[i])) return;
    }
    if (got < wanted) return;
  }
}

template <typename Visitor>
void visit_segments(const Program& program, const ElfW(Ehdr) & header, Visitor visit) {
  constexpr uint64_t kMaxSegments = 128;
  const uint64_t most = header.e_phnum < kMaxSegments ? header.e_phnum : kMaxSegments;
  visit_table<ElfW(Phdr)>(program, header.e_phoff, most, [&](const ElfW(Phdr) & segment) {
    visit(segment);
    return true;
  });
}

}  // namespace heaptap::agent
