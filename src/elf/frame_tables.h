// One object's call frame information, from another process and from the object's file: .eh_frame by its search table or
// without one, else .debug_frame. Copies what is asked for; trusts no byte.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/address_range.h"
#include "unwind/row.h"

namespace heaptap::elf {

// Where the tables are.
struct FrameTablePlaces {
  base::AddressRange range;  // loaded memory that the tables of the memory lie in
  uint64_t header = 0;       // .eh_frame_hdr; 0: none
  uint64_t table = 0;        // .eh_frame; 0: not known
  uint64_t table_bytes = 0;
  unsigned word_bytes = 8;
  uint64_t bias = 0;  // load address minus the file's link address
  int file = -1;      // with .debug_frame; open until the tables are gone
  uint64_t file_offset = 0;
  uint64_t file_bytes = 0;  // 0: none
};

// How many bytes came before the first that can't be read.
using MemoryReader = std::function<size_t(uint64_t address, std::span<uint8_t> to)>;

class FrameTables {
 public:
  FrameTables(FrameTablePlaces places, MemoryReader read);
  ~FrameTables();
  FrameTables(const FrameTables&) = delete;
  FrameTables& operator=(const FrameTables&) = delete;

  // `Cpu`: an arch's Unwinding, always the same one.
  template <typename Cpu>
  unwind::Row row_for(uint64_t pc);

  // The code around pc that one entry describes: a function, or a part of one. Empty: not known.
  template <typename Cpu>
  base::AddressRange function_at(uint64_t pc);

 private:
  class Copy;
  class Index;

  void read_header();
  template <typename Cpu>
  uint64_t entry_in_memory(uint64_t pc);
  template <typename Cpu>
  uint64_t entry_by_header(uint64_t pc);
  template <typename Cpu>
  uint64_t entry_by_table(uint64_t pc);
  template <typename Cpu>
  unwind::Row row_by_file(uint64_t pc);

  FrameTablePlaces places_;
  std::unique_ptr<Copy> copy_;
  bool header_is_usable_ = false;
  std::unique_ptr<Index> table_index_;  // made when it is needed
  std::unique_ptr<Index> file_index_;
};

}  // namespace heaptap::elf
