// What is mapped where in a process: /proc/PID/maps, whose names are the target's to choose.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/address_range.h"

namespace heaptap::process {

struct Mapping {
  base::AddressRange range;
  bool readable = false;
  bool writable = false;
  bool executable = false;
  bool shared = false;
  uint64_t offset = 0;  // in the file
  dev_t device = 0;     // that holds the file
  uint64_t inode = 0;   // 0: no file
  std::string name;     // as the kernel prints it: a path, "[heap]", "[anon:…]", or empty

  [[nodiscard]] bool has_file() const { return inode != 0; }
  // Its pages may have to be brought by a file system, and so by a program (FUSE): not those of shared memory.
  [[nodiscard]] bool is_of_file_system() const;
  // The kernel's own names in brackets; no file can pose as one.
  [[nodiscard]] bool is_kernels(std::string_view special) const { return inode == 0 && name == special; }
};

// Ascending. Lines that make no sense are left out.
std::vector<Mapping> parse_memory_map(std::string_view text);
// `thread` is any live thread of the process.
std::vector<Mapping> read_memory_map(pid_t thread);

// The mapping that holds the address, or null.
const Mapping* find_mapping(const std::vector<Mapping>& mappings, uint64_t address);

}  // namespace heaptap::process
