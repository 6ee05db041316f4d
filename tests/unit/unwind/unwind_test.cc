// Rows of unwind rules: those of all code that is loaded here against elfutils' reading of the same tables, and hostile tables.
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "common/arch/aarch64/registers.h"
#include "common/arch/x86_64/registers.h"
#include "common/unwind/byte_reader.h"
#include "common/unwind/cfi.h"
#include "elfutils_tables.h"

namespace heaptap::unwind {

std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << "{kind " << int{static_cast<uint8_t>(row.kind())} << ", ra " << row.ra_words() << ", fp "
             << row.fp_words() << ", cfa " << row.cfa_words() << "}";
}

namespace {

using Cpu = arch::x86_64::Unwinding;
constexpr Row kNoTable(RowKind::kNoTable);
constexpr Row kUnsupported(RowKind::kUnsupported);

// Frames that are realigned and of variable size occur in few libraries, and here.
extern "C" [[gnu::used, gnu::noinline, gnu::optimize("O2")]] int heaptap_test_realigned_frame(size_t size) {
  alignas(128) volatile char aligned[256];
  auto* variable = static_cast<volatile char*>(__builtin_alloca(size));
  variable[0] = 1;
  aligned[0] = 1;
  return getpid() + aligned[0] + variable[0];
}

// --- Code that is loaded here

struct LoadedObject {
  std::string path;
  uint64_t bias = 0;
  CfiTables tables;
};

int list_object(dl_phdr_info* object, size_t, void* context) {
  LoadedObject loaded;
  loaded.path = object->dlpi_name[0] != '\0' ? object->dlpi_name : "/proc/self/exe";
  loaded.bias = object->dlpi_addr;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    if (object->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
      loaded.tables.header = loaded.bias + object->dlpi_phdr[i].p_vaddr;
  }
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const uint64_t start = loaded.bias + object->dlpi_phdr[i].p_vaddr;
    if (object->dlpi_phdr[i].p_type != PT_LOAD || loaded.tables.header - start >= object->dlpi_phdr[i].p_memsz)
      continue;
    loaded.tables.start = start;
    loaded.tables.end = start + object->dlpi_phdr[i].p_memsz;
    loaded.tables.mapped = reinterpret_cast<const uint8_t*>(start);
  }
  const bool has_file = access(loaded.path.c_str(), R_OK) == 0;
  if (loaded.tables.header != 0 && has_file) static_cast<std::vector<LoadedObject>*>(context)->push_back(loaded);
  return 0;
}

std::vector<LoadedObject> loaded_objects() {
  std::vector<LoadedObject> objects;
  dl_iterate_phdr(list_object, &objects);
  return objects;
}

// Elfutils' reading of a file's .eh_frame, as rows.
class ReferenceTables {
 public:
  explicit ReferenceTables(const std::string& path) : tables_(path) {}

  struct Reference {
    Row row = kNoTable;
    uint64_t start = 0;  // of the range that has this row, file addresses
    uint64_t end = 0;
  };

  [[nodiscard]] Reference row_at(uint64_t address) const {
    const ElfutilsFrame frame = tables_.frame_at(address);
    const Row row = !frame.rules ? kNoTable : frame.is_signal ? Row(RowKind::kSignal) : row_of(frame.rules.get());
    return {row, frame.start, frame.end};
  }

 private:
  static Row row_of(Dwarf_Frame* frame) {
    const SavedRegister return_address = saved_register(frame, Cpu::kReturnAddress, Cpu::kFramePointer);
    const SavedRegister fp = saved_register(frame, Cpu::kFramePointer, Cpu::kFramePointer);
    if (return_address.how == How::kUndefined) return Row(RowKind::kEnd);
    Dwarf_Op* ops = nullptr;
    size_t count = 0;
    unsigned base = 0;
    int64_t offset = 0;
    if (return_address.how != How::kByCfa || dwarf_frame_cfa(frame, &ops, &count) != 0 || count == 0 ||
        !is_register_offset(ops[0], base, offset)) {
      return kUnsupported;
    }
    if (return_address.offset % 8 != 0 || fp.offset % 8 != 0 || offset % 8 != 0 ||
        !Row::fits(return_address.offset / 8, fp.offset / 8)) {
      return kUnsupported;
    }
    const auto row = [&](RowKind kind) { return Row(kind, return_address.offset / 8, fp.offset / 8, offset / 8); };
    if (count == 2 && base == Cpu::kFramePointer && ops[1].atom == DW_OP_deref && fp.how == How::kByFramePointer) {
      return row(RowKind::kFrameIndirect);
    }
    if (count == 1 && fp.how != How::kOther && fp.how != How::kByFramePointer) {
      if (base == Cpu::kStackPointer) return row(RowKind::kStackOffset);
      if (base == Cpu::kFramePointer) return row(RowKind::kFrameOffset);
    }
    return kUnsupported;
  }

  ElfutilsTables tables_;
};

bool is_same(const Row& row, const Row& expected) {
  if (expected.kind() == RowKind::kUnsupported) return row.kind() == RowKind::kUnsupported;
  return row == expected;
}

TEST(FindRow, AgreesWithElfutilsOnAllLoadedCode) {
  std::map<RowKind, size_t> kinds;
  size_t compared = 0;
  for (const LoadedObject& object : loaded_objects()) {
    const ReferenceTables reference(object.path);
    const std::vector<uint64_t> starts = function_starts(object.tables);
    for (size_t i = 0; i < starts.size(); ++i) {
      const uint64_t start = starts[i] - object.bias;
      const uint64_t next = i + 1 < starts.size() ? starts[i + 1] - object.bias : start + 4096;
      for (uint64_t address = start; address < next;) {
        const auto expected = reference.row_at(address);
        const uint64_t end = std::min(std::max(expected.end, address + 1), next);
        for (const uint64_t pc : {address, address + (end - address) / 2, end - 1}) {
          const Row row = find_row<Cpu>(object.tables, pc + object.bias);
          ASSERT_TRUE(is_same(row, expected.row))
              << object.path << " at " << std::hex << pc << ": " << std::dec << row << ", elfutils: " << expected.row;
          ++compared;
        }
        ++kinds[expected.row.kind()];
        address = expected.row.kind() == RowKind::kNoTable ? std::max(end, std::min(next, address + 16)) : end;
      }
    }
    EXPECT_EQ(find_row<Cpu>(object.tables, 0).kind(), RowKind::kNoTable);
    EXPECT_EQ(find_row<Cpu>(object.tables, UINT64_MAX).kind(), RowKind::kNoTable);
  }
  RecordProperty("compared", static_cast<int>(compared));
  EXPECT_GT(compared, 30'000u);
  for (const RowKind kind : {RowKind::kStackOffset, RowKind::kFrameOffset, RowKind::kFrameIndirect, RowKind::kSignal,
                             RowKind::kEnd, RowKind::kNoTable}) {
    EXPECT_GT(kinds[kind], 0u) << "kind " << int{static_cast<uint8_t>(kind)} << " doesn't occur here";
  }
  const size_t all = kinds[RowKind::kStackOffset] + kinds[RowKind::kFrameOffset] + kinds[RowKind::kUnsupported];
  EXPECT_LT(kinds[RowKind::kUnsupported], all / 1000 + 50);
}

// --- Tables made by hand

// One function of 256 bytes at kCode, with a CIE and an FDE that hold the given programs.
class MadeTables {
 public:
  static constexpr uint64_t kBase = 0x10000;
  static constexpr uint64_t kCode = 0x20000;

  explicit MadeTables(const std::vector<uint8_t>& fde_program,
                      const std::vector<uint8_t>& cie_program = {0x0c, 7, 8, 0x90, 1},
                      const std::string& augmentation = "zR", uint8_t data_alignment = 0x78,
                      uint8_t return_register = Cpu::kReturnAddress) {
    const size_t cie = bytes_.size();
    u32(0);  // length, below
    u32(0);
    u8(1);
    for (const char letter : augmentation) u8(static_cast<uint8_t>(letter));
    u8(0);
    u8(1);  // code alignment
    u8(data_alignment);
    u8(return_register);
    if (augmentation[0] == 'z') {
      u8(1);
      u8(kPointerPcRelative | kPointerS4);
    }
    append(cie_program);
    end_entry(cie);
    const size_t fde = bytes_.size();
    u32(0);
    u32(static_cast<uint32_t>(fde + 4 - cie));
    u32(static_cast<uint32_t>(kCode - (kBase + bytes_.size())));
    u32(256);
    if (augmentation[0] == 'z') u8(0);
    append(fde_program);
    end_entry(fde);
    header_ = bytes_.size();
    append({1, 0x1b, 0x03, 0x3b});
    u32(0);
    u32(1);
    u32(static_cast<uint32_t>(kCode - (kBase + header_)));
    u32(static_cast<uint32_t>(kBase + fde - (kBase + header_)));
  }

  template <typename SomeCpu = Cpu>
  [[nodiscard]] Row row_at(uint64_t offset) const {
    return find_row<SomeCpu>(tables(), kCode + offset);
  }
  [[nodiscard]] CfiTables tables() const { return {kBase, kBase + bytes_.size(), bytes_.data(), kBase + header_}; }

 private:
  void u8(uint8_t value) { bytes_.push_back(value); }
  void u32(uint32_t value) {
    for (unsigned i = 0; i < 4; ++i) u8(static_cast<uint8_t>(value >> (8 * i)));
  }
  void append(const std::vector<uint8_t>& more) { bytes_.insert(bytes_.end(), more.begin(), more.end()); }
  void end_entry(size_t start) {
    const auto length = static_cast<uint32_t>(bytes_.size() - start - 4);
    for (unsigned i = 0; i < 4; ++i) bytes_[start + i] = static_cast<uint8_t>(length >> (8 * i));
  }

  std::vector<uint8_t> bytes_;
  size_t header_ = 0;
};

// `offset`: of the CFA, in bytes.
constexpr Row at_stack(int32_t offset, int16_t fp_words = 0) {
  return {RowKind::kStackOffset, -1, fp_words, offset / 8};
}

TEST(FindRow, FollowsAFunctionThatPushesItsFramePointer) {
  // 1: push %rbp; 4: mov %rsp, %rbp; 200: leave
  const MadeTables tables({0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 196, 0x0c, 7, 8, 0xc6});
  EXPECT_EQ(tables.row_at(0), at_stack(8));
  EXPECT_EQ(tables.row_at(1), at_stack(16, -2));
  EXPECT_EQ(tables.row_at(3), at_stack(16, -2));
  EXPECT_EQ(tables.row_at(4), Row(RowKind::kFrameOffset, -1, -2, 2));
  EXPECT_EQ(tables.row_at(199), Row(RowKind::kFrameOffset, -1, -2, 2));
  EXPECT_EQ(tables.row_at(200), at_stack(8));
  EXPECT_EQ(tables.row_at(255), at_stack(8));
  EXPECT_EQ(tables.row_at(256), kNoTable);
  EXPECT_EQ(find_row<Cpu>(tables.tables(), MadeTables::kCode - 1), kNoTable);
}

TEST(FindRow, RemembersAndRestores) {
  const MadeTables tables({0x0a, 0x41, 0x0e, 24, 0x0a, 0x41, 0x0e, 32, 0x41, 0x0b, 0x41, 0x0b});
  EXPECT_EQ(tables.row_at(1), at_stack(24));
  EXPECT_EQ(tables.row_at(2), at_stack(32));
  EXPECT_EQ(tables.row_at(3), at_stack(24));
  EXPECT_EQ(tables.row_at(4), at_stack(8));
}

TEST(FindRow, KnowsEveryWayToAdvance) {
  const MadeTables by_two({0x03, 5, 0, 0x0e, 24});
  EXPECT_EQ(by_two.row_at(4), at_stack(8));
  EXPECT_EQ(by_two.row_at(5), at_stack(24));
  const MadeTables by_four({0x04, 9, 0, 0, 0, 0x0e, 24});
  EXPECT_EQ(by_four.row_at(8), at_stack(8));
  EXPECT_EQ(by_four.row_at(9), at_stack(24));
}

TEST(FindRow, KnowsTheSignedForms) {
  EXPECT_EQ(MadeTables({0x12, 7, 0x7d}).row_at(0), at_stack(24));                  // def_cfa_sf: -3 * -8
  EXPECT_EQ(MadeTables({0x13, 0x7c}).row_at(0), at_stack(32));                     // def_cfa_offset_sf
  EXPECT_EQ(MadeTables({0x11, 6, 3}).row_at(0), at_stack(8, -3));                  // offset_extended_sf
  EXPECT_EQ(MadeTables({0x05, 6, 3}).row_at(0), at_stack(8, -3));                  // offset_extended
  EXPECT_EQ(MadeTables({0x86, 3, 0x06, 6}).row_at(0), at_stack(8));                // restore_extended
  EXPECT_EQ(MadeTables({0x2e, 16, 0x00, 0x0e, 16}).row_at(0), at_stack(16));       // GNU_args_size, nop
  EXPECT_EQ(MadeTables({0x16, 3, 2, 0x77, 0, 0x0e, 16}).row_at(0), at_stack(16));  // a value of another register
}

TEST(FindRow, KnowsRealignedFrames) {
  const MadeTables tables({0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0});
  EXPECT_EQ(tables.row_at(0), Row(RowKind::kFrameIndirect, -1, 0, -1));
}

TEST(FindRow, EndsWhereTheReturnAddressIsUndefined) {
  EXPECT_EQ(MadeTables({0x07, 16}).row_at(0).kind(), RowKind::kEnd);
}

TEST(FindRow, SaysWhatItCannotFollow) {
  for (const std::vector<uint8_t>& program : std::vector<std::vector<uint8_t>>{
           {0x0d, 3},                                                              // a CFA by %rbx
           {0x09, 16, 0},                                                          // the return address in a register
           {0x0f, 2, 0x77, 8},                                                     // a CFA by another expression
           {0x10, 6, 2, 0x77, 8},                                                  // the frame pointer likewise
           {0x14, 6, 1},                                                           // the frame pointer is a value
           {0x0b},                                                                 // restores what was never remembered
           {0x0a, 0x0a, 0x0a, 0x0a, 0x0a},                                         // remembers deeper than anyone does
           {0x3f},                                                                 // no such instruction
           {0x86, 0x80},                                                           // cut off
           {0x11, 6, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00},  // an offset of 2^63
       }) {
    EXPECT_EQ(MadeTables(program).row_at(0).kind(), RowKind::kUnsupported) << "program " << int{program[0]};
  }
}

TEST(FindRow, OffsetsThatDoNotFitAreNotFollowed) {
  EXPECT_EQ(MadeTables({0x86, 0xff, 0xff, 3}).row_at(0).kind(), RowKind::kUnsupported);
  EXPECT_EQ(MadeTables({0x90, 0x81, 1}).row_at(0).kind(), RowKind::kUnsupported);
  EXPECT_EQ(MadeTables({0x0e, 0x80, 0x80, 0x80, 0x80, 8}).row_at(0).kind(), RowKind::kUnsupported);
}

TEST(FindRow, ProductsThatDoNotFitAreNotFollowed) {
  const std::vector<uint8_t> two_to_62{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0xc0, 0x00};
  for (std::vector<uint8_t> program : {std::vector<uint8_t>{0x12, 7}, {0x13}}) {  // def_cfa_sf, def_cfa_offset_sf
    program.insert(program.end(), two_to_62.begin(), two_to_62.end());
    EXPECT_EQ(MadeTables(program).row_at(0).kind(), RowKind::kUnsupported);
  }
}

TEST(FindRow, FramesOfOddSizeAreNotFollowed) {
  EXPECT_EQ(MadeTables({0x0e, 12}).row_at(0), kUnsupported);
  EXPECT_EQ(MadeTables({0x11, 6, 3}, {0x0c, 7, 8, 0x90, 1}, "zR", 0x7c).row_at(0), kUnsupported);
}

TEST(Row, KeepsWhatFits) {
  for (const int64_t cfa : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{1} << 43, -(int64_t{1} << 44)}) {
    for (const int64_t fp : {-512, -2, 0, 1, 511}) {
      for (const int64_t ra : {-16, -1, 0, 2, 15}) {
        const Row row(RowKind::kFrameRecord, ra, fp, cfa);
        EXPECT_TRUE(Row::fits(ra, fp));
        EXPECT_EQ(row.kind(), RowKind::kFrameRecord);
        EXPECT_EQ(row.ra_words(), ra);
        EXPECT_EQ(row.fp_words(), fp);
        EXPECT_EQ(row.cfa_words(), cfa);
      }
    }
  }
  EXPECT_FALSE(Row::fits(-17, 0) || Row::fits(16, 0) || Row::fits(0, -513) || Row::fits(0, 512));
}

// --- A CPU whose calls leave the return address in a register

using Linked = arch::aarch64::Unwinding;

// As compilers begin a CIE there: CFA = sp; x30 holds the return address.
MadeTables linked_tables(const std::vector<uint8_t>& program, const std::string& augmentation = "zR") {
  return MadeTables(program, {0x0c, 31, 0}, augmentation, 0x78, 30);
}
Row linked_row(const std::vector<uint8_t>& program, uint64_t at = 0) {
  return linked_tables(program).row_at<Linked>(at);
}

TEST(FindRowWithLinkRegister, LeavesReturnWithoutTheStack) {
  EXPECT_EQ(linked_row({}), Row(RowKind::kStackLeaf));
  EXPECT_EQ(linked_row({0x0e, 32}), Row(RowKind::kStackLeaf, 0, 0, 4));
  EXPECT_EQ(linked_row({0x0c, 29, 32, 0x9d, 4}), Row(RowKind::kFrameLeaf, 0, -4, 4));
}

TEST(FindRowWithLinkRegister, FollowsAFunctionThatSavesAPair) {
  // 1: stp x29, x30, [sp, #-32]!; 2: mov x29, sp; 3: ldp x29, x30, [sp], #32
  const MadeTables tables =
      linked_tables({0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x41, 0x0d, 29, 0x41, 0x0c, 31, 0, 0xdd, 0xde});
  EXPECT_EQ(tables.row_at<Linked>(0), Row(RowKind::kStackLeaf));
  EXPECT_EQ(tables.row_at<Linked>(1), Row(RowKind::kStackOffset, -3, -4, 4));
  EXPECT_EQ(tables.row_at<Linked>(2), Row(RowKind::kFrameOffset, -3, -4, 4));
  EXPECT_EQ(tables.row_at<Linked>(3), Row(RowKind::kStackLeaf));
}

TEST(FindRowWithLinkRegister, CountsAPairFarBelowTheCfaFromItsRegister) {
  EXPECT_EQ(linked_row({0x0e, 0x80, 0x80, 4, 0x9d, 0x80, 64, 0x9e, 0xff, 63}), Row(RowKind::kStackRecord, 1, 0, 8192));
  EXPECT_EQ(linked_row({0x0c, 29, 0x80, 0x80, 4, 0x9d, 0x80, 64, 0x9e, 0xff, 63}),
            Row(RowKind::kFrameRecord, 1, 0, 8192));
}

TEST(FindRowWithLinkRegister, CountsAPairInTheMiddleOfAFrameFromTheCfa) {
  // A variadic function's, below the registers that may have arguments: CFA = SP + 448; FP at CFA - 240, LR at CFA - 232.
  EXPECT_EQ(linked_row({0x0e, 0xc0, 3, 0x9d, 30, 0x9e, 29}), Row(RowKind::kStackPair, 0, -30, 56));
  EXPECT_EQ(linked_row({0x0c, 29, 0xc0, 3, 0x9d, 30, 0x9e, 29}), Row(RowKind::kFramePair, 0, -30, 56));
  // Not side by side, and near neither end: there is no such row.
  EXPECT_EQ(linked_row({0x0e, 0xc0, 3, 0x9d, 29, 0x9e, 27}), Row(RowKind::kUnsupported));
}

TEST(FindRowWithLinkRegister, CountsAReturnAddressFarBelowTheCfaFromTheStackPointer) {
  EXPECT_EQ(linked_row({0x0e, 0x80, 0x80, 4, 0x9e, 0xff, 63}), Row(RowKind::kStackReturn, 1, 0, 8192));
  // By the frame pointer alone there is no such row.
  EXPECT_EQ(linked_row({0x0c, 29, 0x80, 0x80, 4, 0x9e, 0xff, 63}), Row(RowKind::kUnsupported));
}

TEST(FindRowWithLinkRegister, KnowsWhatIsSaidOfSignatures) {
  EXPECT_EQ(linked_row({0x2d, 0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3}, 1), Row(RowKind::kStackOffset, -3, -4, 4));
  EXPECT_EQ(linked_tables({0x2d, 0x0e, 32, 0x9e, 3}, "zRB").row_at<Linked>(0), Row(RowKind::kStackOffset, -3, 0, 4));
  EXPECT_EQ(MadeTables({0x2d}).row_at(0), kUnsupported);  // where addresses have none
}

TEST(FindRowWithLinkRegister, EndsWhereTheReturnAddressIsUndefined) {
  EXPECT_EQ(linked_row({0x07, 30}), Row(RowKind::kEnd));
}

TEST(FindRow, HasNoTableWithoutAHeader) {
  CfiTables tables = MadeTables({}).tables();
  tables.header = 0;
  EXPECT_EQ(find_row<Cpu>(tables, MadeTables::kCode), kNoTable);
  EXPECT_EQ(find_row<Cpu>(CfiTables{}, 1), kNoTable);
}

// Bytes of exactly their size, so that a sanitizer notices each read beside them.
void find_rows_everywhere(const std::vector<uint8_t>& bytes, const CfiTables& like, std::mt19937_64& random) {
  CfiTables tables = like;
  tables.mapped = bytes.data();
  for (int i = 0; i < 8; ++i) {
    const Row row = find_row<Cpu>(tables, MadeTables::kCode + random() % 300);
    EXPECT_LE(static_cast<uint8_t>(row.kind()), static_cast<uint8_t>(RowKind::kUnsupported));
  }
}

TEST(FindRow, SurvivesHostileTables) {
  const MadeTables made({0x41, 0x0e, 16,   0x86, 2,    0x43, 0x0d, 6,    0x0a, 0x02, 100, 0x0c, 7,    8,    0x0b, 0x0f,
                         3,    0x76, 0x78, 6,    0x10, 6,    2,    0x76, 0,    0x12, 7,   0x7d, 0x13, 0x7c, 0x2e, 16},
                        {0x0c, 7, 8, 0x90, 1}, "zR");
  const CfiTables tables = made.tables();
  const std::vector<uint8_t> sound(tables.mapped, tables.mapped + (tables.end - tables.start));
  std::mt19937_64 random(18);
  for (size_t at = 0; at < sound.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::vector<uint8_t> bytes = sound;
      bytes[at] = static_cast<uint8_t>(value);
      find_rows_everywhere(bytes, tables, random);
    }
  }
  for (int round = 0; round < 20'000; ++round) {
    std::vector<uint8_t> bytes = sound;
    for (uint64_t count = 1 + random() % 6; count > 0; --count) {
      bytes[random() % bytes.size()] = static_cast<uint8_t>(random() % 3 == 0 ? 0xff : random());
    }
    find_rows_everywhere(bytes, tables, random);
  }
}

TEST(FindRow, SurvivesTablesThatAreCutOff) {
  const MadeTables made({0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6});
  const CfiTables whole = made.tables();
  for (uint64_t end = whole.start; end < whole.end; ++end) {
    const std::vector<uint8_t> bytes(whole.mapped, whole.mapped + (end - whole.start));
    CfiTables cut = whole;
    cut.end = end;
    cut.mapped = bytes.data();
    EXPECT_EQ(find_row<Cpu>(cut, MadeTables::kCode), kNoTable) << end;
  }
}

// --- Bytes

ByteReader reader_of(const std::vector<uint8_t>& bytes, uint64_t address = 0x1000) {
  return {bytes.data(), address, address + bytes.size()};
}

TEST(ByteReader, ReadsNothingBehindItsEnd) {
  const std::vector<uint8_t> bytes{1, 2, 3};
  ByteReader reader = reader_of(bytes);
  EXPECT_EQ(reader.fixed<uint16_t>(), 0x0201);
  EXPECT_EQ(reader.address(), 0x1002u);
  EXPECT_EQ(reader.fixed<uint16_t>(), 0);
  EXPECT_FALSE(reader.ok());
  EXPECT_TRUE(reader.at_end());
  EXPECT_EQ(reader.u8(), 0);
  EXPECT_EQ(reader.uleb(), 0u);
  EXPECT_EQ(reader.sleb(), 0);
}

TEST(ByteReader, ReadsNumbersOfTheOtherByteOrder) {
  const std::vector<uint8_t> bytes{1, 2, 3, 4, 5, 6, 7, 8, 0xff, 0xfe, 9};
  ByteReader reader(bytes.data(), 0x1000, 0x1000 + bytes.size(), true);
  EXPECT_EQ(reader.fixed<uint64_t>(), 0x0102030405060708u);
  EXPECT_EQ(reader.fixed<int16_t>(), -2);
  EXPECT_EQ(reader.u8(), 9);
  EXPECT_EQ(ByteReader(bytes.data(), 0, 4, true).pointer(kPointerU4, 0, 4), 0x01020304u);
}

TEST(ByteReader, SkipsAndLimitsOnlyWithinItsRange) {
  const std::vector<uint8_t> bytes{1, 2, 3, 4};
  ByteReader reader = reader_of(bytes);
  reader.skip(1);
  reader.limit(2);
  EXPECT_EQ(reader.left(), 2u);
  reader.skip(UINT64_MAX);
  EXPECT_FALSE(reader.ok());
  ByteReader other = reader_of(bytes);
  other.limit(5);
  EXPECT_FALSE(other.ok());
  EXPECT_TRUE(ByteReader(bytes.data(), 5, 4).at_end());
}

TEST(ByteReader, ReadsLeb128) {
  EXPECT_EQ(reader_of({0xe5, 0x8e, 0x26}).uleb(), 624485u);
  EXPECT_EQ(reader_of({0xc0, 0xbb, 0x78}).sleb(), -123456);
  EXPECT_EQ(reader_of({0x7f}).sleb(), -1);
  EXPECT_EQ(reader_of({0x80, 0x80}).uleb(), 0u);
  const std::vector<uint8_t> endless(100, 0xff);
  ByteReader reader = reader_of(endless);
  reader.uleb();
  EXPECT_FALSE(reader.ok());
  ByteReader other = reader_of(endless);
  other.sleb();
  EXPECT_FALSE(other.ok());
}

TEST(ByteReader, ReadsPointersInAllEncodings) {
  const std::vector<uint8_t> bytes{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  const auto read = [&](uint8_t encoding, size_t word_bytes = 8) {
    return reader_of(bytes).pointer(encoding, 0x500, word_bytes);
  };
  EXPECT_EQ(read(kPointerAbsolute), UINT64_MAX - 1);
  EXPECT_EQ(read(kPointerAbsolute, 4), 0xfffffffeu);
  EXPECT_EQ(read(kPointerU2), 0xfffeu);
  EXPECT_EQ(read(kPointerU4), 0xfffffffeu);
  EXPECT_EQ(read(kPointerS2), UINT64_MAX - 1);
  EXPECT_EQ(read(kPointerS4 | kPointerPcRelative), 0x1000u - 2);
  EXPECT_EQ(read(kPointerS4 | kPointerDataRelative), 0x500u - 2);
  ByteReader reader = reader_of(bytes);
  EXPECT_EQ(reader.pointer(0x0f, 0, 8), 0u) << "no such format";
  EXPECT_FALSE(reader.ok());
  ByteReader other = reader_of(bytes);
  EXPECT_EQ(other.pointer(0x20, 0, 8), 0u) << "relative to the text, which nobody writes";
  EXPECT_FALSE(other.ok());
}

}  // namespace
}  // namespace heaptap::unwind
