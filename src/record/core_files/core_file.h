// Core file: what the kernel, or a debugger, wrote of a process's memory and threads. Sources: elf(5), core(5); Linux, fs/binfmt_elf.c and
// include/uapi/linux/elfcore.h.
//
//   ELF header, segments   PT_NOTE   threads' registers, the mapped files, the auxiliary vector
//                          PT_LOAD   a mapping; its bytes, as far as they were written
//
// Trusts no byte: everything is held against the file's real size, and what can't be right counts as missing.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "capture/elf/elf_headers.h"
#include "capture/process/thread_state.h"
#include "common/base/address_range.h"
#include "common/base/byte_source.h"
#include "common/base/result.h"
#include "common/wire/architecture.h"

namespace heaptap::core_files {

struct CoreSegment {
  base::AddressRange memory;
  uint64_t offset = 0;         // of its bytes in the core
  uint64_t written_bytes = 0;  // as many as should be there, from the beginning of the memory
  uint64_t there_bytes = 0;    // as many as are there: fewer in a truncated core
  bool readable = false;
  bool writable = false;
  bool executable = false;
};

// A part of a file that was mapped.
struct MappedFile {
  base::AddressRange memory;
  uint64_t offset = 0;  // in that file
  std::string path;
};

// Addresses in the auxiliary vector; 0: it has none.
struct AuxiliaryPlaces {
  uint64_t program_headers = 0;
  uint64_t vdso = 0;
  uint64_t on_stack = 0;  // something that the kernel has put there
};

struct CoreFile {
  wire::Architecture architecture = wire::Architecture::kUnknown;
  elf::ElfForm form;
  uint32_t process_id = 0;   // 0: unknown
  std::string program_name;  // as the kernel knows it: cut off after 15 bytes
  std::string command;       // arguments with spaces in between, cut off after 79 bytes
  uint32_t first_thread = 0;
  int signal = 0;  // of the first thread: what ended the process, if it crashed
  AuxiliaryPlaces places;
  std::vector<process::StoppedThread> threads;  // ascending by id
  std::vector<CoreSegment> segments;            // ascending, disjoint
  std::vector<MappedFile> files;                // the same
  uint64_t file_bytes = 0;
  uint64_t wanted_bytes = 0;  // size of a file with all that the segments say; larger than file_bytes: it is truncated

  [[nodiscard]] bool is_truncated() const { return wanted_bytes > file_bytes; }
};

// `name` is for messages. The error says why it can't be used, and what the user can do.
base::Result<CoreFile> read_core_file(const base::ByteSource& bytes, uint64_t file_bytes, const std::string& name);

}  // namespace heaptap::core_files
