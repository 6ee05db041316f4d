// Call frame information of one object, from another process and from the object's file: .eh_frame, with or without its
// search table, else .debug_frame. Copies what is requested; trusts no byte.
#pragma once
#include <cstdint>
#include <memory>

#include "common/base/address_range.h"
#include "common/base/byte_source.h"
#include "common/unwind/row.h"

namespace heaptap::elf {

// Locations of the tables.
struct FrameTablePlaces {
  base::AddressRange range;  // loaded memory that contains the in-memory tables
  uint64_t header = 0;       // .eh_frame_hdr; 0: none
  uint64_t table = 0;        // .eh_frame; 0: unknown
  uint64_t table_bytes = 0;
  unsigned word_bytes = 8;
  uint64_t bias = 0;  // load address minus the file's link address
  int file = -1;      // with .debug_frame; must stay open as long as the tables
  uint64_t file_offset = 0;
  uint64_t file_bytes = 0;  // 0: none
};

class FrameTables {
 public:
  // `memory` must live as long as the tables.
  FrameTables(FrameTablePlaces places, const base::ByteSource& memory);
  ~FrameTables();
  FrameTables(const FrameTables&) = delete;
  FrameTables& operator=(const FrameTables&) = delete;

  // `Cpu`: an arch's Unwinding, always the same one.
  template <typename Cpu>
  unwind::Row row_for(uint64_t pc);

  // The code range around pc that one entry describes: a function, or a part of one. Empty: unknown.
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
  std::unique_ptr<Index> table_index_;  // built on demand
  std::unique_ptr<Index> file_index_;
};

}  // namespace heaptap::elf
