// Second opinion on unwind tables: elfutils' reading of a file's .eh_frame.
#pragma once
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "common/unwind/byte_reader.h"
#include "common/unwind/cfi.h"

namespace heaptap::unwind {

// Beginnings of the functions in the search table.
inline std::vector<uint64_t> function_starts(const CfiTables& tables) {
  ByteReader reader = tables.reader_at(tables.header);
  reader.skip(8);
  const auto count = reader.fixed<uint32_t>();
  std::vector<uint64_t> starts;
  for (uint32_t i = 0; i < count; ++i) {
    starts.push_back(tables.header + static_cast<uint64_t>(int64_t{reader.fixed<int32_t>()}));
    reader.skip(4);
  }
  EXPECT_TRUE(reader.ok());
  return starts;
}

struct ElfutilsFrame {
  std::unique_ptr<Dwarf_Frame, decltype(&free)> rules{nullptr, &free};  // null: no table has the address
  uint64_t start = 0;  // of the range that has these rules, file addresses
  uint64_t end = 0;
  bool is_signal = false;
};

class ElfutilsTables {
 public:
  explicit ElfutilsTables(const std::string& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    elf_version(EV_CURRENT);
    elf_ = elf_begin(descriptor_, ELF_C_READ_MMAP, nullptr);
    cfi_ = dwarf_getcfi_elf(elf_);
  }
  ~ElfutilsTables() {
    dwarf_cfi_end(cfi_);
    elf_end(elf_);
    close(descriptor_);
  }
  ElfutilsTables(const ElfutilsTables&) = delete;
  ElfutilsTables& operator=(const ElfutilsTables&) = delete;

  [[nodiscard]] ElfutilsFrame frame_at(uint64_t address) const {
    ElfutilsFrame frame;
    Dwarf_Frame* found = nullptr;
    if (dwarf_cfi_addrframe(cfi_, address, &found) != 0) {
      frame.start = address;
      frame.end = address + 1;
      return frame;
    }
    frame.rules.reset(found);
    dwarf_frame_info(found, &frame.start, &frame.end, &frame.is_signal);
    return frame;
  }
  [[nodiscard]] Elf* elf() const { return elf_; }

 private:
  int descriptor_;
  Elf* elf_;
  Dwarf_CFI* cfi_;
};

// Whether an operation is register + offset, in either of its spellings.
inline bool is_register_offset(const Dwarf_Op& op, unsigned& number, int64_t& offset) {
  if (op.atom == DW_OP_bregx) {
    number = static_cast<unsigned>(op.number);
    offset = static_cast<int64_t>(op.number2);
    return true;
  }
  number = op.atom - DW_OP_breg0;
  offset = static_cast<int64_t>(op.number);
  return op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31;
}

// Location of a caller's register.
enum class How { kSame, kUndefined, kByCfa, kByFramePointer, kOther };
struct SavedRegister {
  How how;
  int64_t offset;
};

inline SavedRegister saved_register(Dwarf_Frame* frame, unsigned number, unsigned frame_pointer) {
  Dwarf_Op memory[3];
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  if (dwarf_frame_register(frame, static_cast<int>(number), memory, &ops, &count) != 0) return {How::kOther, 0};
  if (count == 0) return {ops == nullptr ? How::kSame : How::kUndefined, 0};
  if (ops[0].atom != DW_OP_call_frame_cfa) return {How::kOther, 0};
  if (count == 1) return {How::kByCfa, 0};
  if (count == 2 && ops[1].atom == DW_OP_plus_uconst) return {How::kByCfa, static_cast<int64_t>(ops[1].number)};
  // An expression begins with the CFA on its stack; this one doesn't use it.
  unsigned base = 0;
  int64_t offset = 0;
  const bool is_by_register = count == 2 && is_register_offset(ops[1], base, offset);
  if (is_by_register && base == frame_pointer) return {How::kByFramePointer, offset};
  return {How::kOther, 0};
}

}  // namespace heaptap::unwind
