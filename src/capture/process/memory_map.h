// Memory map of a process: /proc/PID/maps, whose names are chosen by the target.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/address_range.h"

namespace heaptap::process {

struct Mapping {
  base::AddressRange range;
  bool readable = false;
  bool writable = false;
  bool executable = false;
  bool shared = false;
  uint64_t offset = 0;  // in the file
  dev_t device = 0;     // device of the file
  uint64_t inode = 0;   // 0: no file
  std::string name;     // as the kernel prints it: a path, "[heap]", "[anon:…]", or empty

  [[nodiscard]] bool has_file() const { return inode != 0; }
  // Private memory without a file, also if the program or its C library has given it a name (glibc.mem.decorate_maps).
  [[nodiscard]] bool is_anonymous() const;
  // Whether a file system, and so possibly a program (FUSE), may have to supply its pages: not for shared memory.
  [[nodiscard]] bool is_of_file_system() const;
  // Names in brackets are the kernel's own; a file can't fake one.
  [[nodiscard]] bool is_kernels(std::string_view special) const { return inode == 0 && name == special; }
};

// Ascending. Invalid lines are skipped.
std::vector<Mapping> parse_memory_map(std::string_view text);
// `thread` is any live thread of the process.
std::vector<Mapping> read_memory_map(pid_t thread);

// The mapping that contains the address, or null.
const Mapping* find_mapping(const std::vector<Mapping>& mappings, uint64_t address);

}  // namespace heaptap::process
