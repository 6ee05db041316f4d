// Rows of AArch64's code: those of the libraries that come with its cross compiler, against elfutils' reading of the same tables.
#include <elfutils/libdw.h>
#include <gelf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/arch/aarch64/registers.h"
#include "common/unwind/cfi.h"
#include "common/unwind/step.h"
#include "elfutils_tables.h"

namespace heaptap::unwind {
namespace {

using Cpu = arch::aarch64::Unwinding;

constexpr const char kLibraries[] = "/usr/aarch64-linux-gnu/lib";
constexpr uint64_t kInstructionBytes = 4;

// Frame of a function: two registers, far enough from each other for any offset.
constexpr uint64_t kStackPointer = 0x7000'0000'0000;
constexpr uint64_t kFramePointer = 0x7100'0000'0000;

// Where a frame leads to. Places: 0: not on the stack.
struct Way {
  RowKind kind = RowKind::kUnsupported;  // or kNoTable, kEnd, kSignal; kStackOffset for all that lead to a caller
  uint64_t cfa = 0;
  uint64_t return_address = 0;
  uint64_t frame_pointer = 0;

  bool operator==(const Way&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Way& way) {
  return out << "{kind " << int{static_cast<uint8_t>(way.kind)} << std::hex << ", cfa " << way.cfa << ", ra at "
             << way.return_address << ", fp at " << way.frame_pointer << std::dec << "}";
}

Way way_of(Row row) {
  const bool is_end = row.kind() == RowKind::kNoTable || row.kind() == RowKind::kEnd ||
                      row.kind() == RowKind::kSignal || row.kind() == RowKind::kUnsupported;
  if (is_end) return {.kind = row.kind()};
  Frame frame;
  frame.sp = kStackPointer;
  frame.fp = kFramePointer;
  const RowPlaces<Cpu> places(row, frame);
  return {.kind = places.is_indirect ? RowKind::kFrameIndirect : RowKind::kStackOffset,
          .cfa = places.cfa,
          .return_address = places.is_in_link ? 0 : places.return_address(row),
          .frame_pointer = places.saves_frame_pointer(row) ? places.frame_pointer(row) : 0};
}

std::optional<uint64_t> place_of(const SavedRegister& saved, uint64_t cfa) {
  if (saved.how == How::kSame) return 0;
  if (saved.how == How::kByCfa) return cfa + static_cast<uint64_t>(saved.offset);
  return std::nullopt;
}

Way way_of(const ElfutilsFrame& frame) {
  if (!frame.rules) return {.kind = RowKind::kNoTable};
  if (frame.is_signal) return {.kind = RowKind::kSignal};
  const SavedRegister return_address = saved_register(frame.rules.get(), Cpu::kReturnAddress, Cpu::kFramePointer);
  if (return_address.how == How::kUndefined) return {.kind = RowKind::kEnd};
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  unsigned base = 0;
  int64_t offset = 0;
  if (dwarf_frame_cfa(frame.rules.get(), &ops, &count) != 0 || count != 1 || !is_register_offset(ops[0], base, offset))
    return {};
  if (base != Cpu::kStackPointer && base != Cpu::kFramePointer) return {};
  const uint64_t cfa = (base == Cpu::kStackPointer ? kStackPointer : kFramePointer) + static_cast<uint64_t>(offset);
  const auto ra_place = place_of(return_address, cfa);
  const auto fp_place = place_of(saved_register(frame.rules.get(), Cpu::kFramePointer, Cpu::kFramePointer), cfa);
  if (!ra_place || !fp_place) return {};
  return {.kind = RowKind::kStackOffset, .cfa = cfa, .return_address = *ra_place, .frame_pointer = *fp_place};
}

// A library's file, in memory as far as its tables.
struct Library {
  explicit Library(const std::string& path) : reference(path) {
    size_t count = 0;
    size_t bytes = 0;
    const auto* file = reinterpret_cast<const uint8_t*>(elf_rawfile(reference.elf(), &bytes));
    if (file == nullptr || elf_getphdrnum(reference.elf(), &count) != 0) return;
    GElf_Phdr segment;
    for (size_t i = 0; i < count && gelf_getphdr(reference.elf(), static_cast<int>(i), &segment) != nullptr; ++i) {
      if (segment.p_type == PT_GNU_EH_FRAME) tables.header = segment.p_vaddr;
    }
    for (size_t i = 0; i < count && gelf_getphdr(reference.elf(), static_cast<int>(i), &segment) != nullptr; ++i) {
      if (segment.p_type != PT_LOAD || tables.header - segment.p_vaddr >= segment.p_filesz) continue;
      tables.start = segment.p_vaddr;
      tables.end = segment.p_vaddr + segment.p_filesz;
      tables.mapped = file + segment.p_offset;
    }
  }
  ElfutilsTables reference;
  CfiTables tables;
};

std::vector<std::string> libraries() {
  std::vector<std::string> paths;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(kLibraries, ignored)) {
    const std::string name = entry.path().filename();
    if (entry.is_regular_file(ignored) && name.find(".so.") != name.npos) paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

TEST(AArch64Rows, AgreeWithElfutilsOnALibrarysCode) {
  const std::vector<std::string> paths = libraries();
  if (paths.empty()) {
    ASSERT_EQ(std::getenv("CI"), nullptr) << "no library is in " << kLibraries;
    GTEST_SKIP() << "no library is in " << kLibraries;
  }
  std::map<RowKind, size_t> kinds;
  size_t compared = 0;
  for (const std::string& path : paths) {
    const Library library(path);
    if (library.tables.mapped == nullptr) continue;
    const std::vector<uint64_t> starts = function_starts(library.tables);
    for (size_t i = 0; i + 1 < starts.size(); ++i) {
      for (uint64_t address = starts[i]; address < starts[i + 1];) {
        const ElfutilsFrame expected = library.reference.frame_at(address);
        const uint64_t end = std::min(std::max(expected.end, address + kInstructionBytes), starts[i + 1]);
        for (const uint64_t pc : {address, address + (end - address) / 2, end - 1}) {
          const Row row = find_row<Cpu>(library.tables, pc);
          ASSERT_EQ(way_of(row), way_of(expected)) << path << " at " << std::hex << pc;
          ++kinds[row.kind()];
          ++compared;
        }
        address = end;
      }
    }
  }
  RecordProperty("compared", static_cast<int>(compared));
  EXPECT_GT(compared, 100'000u);
  for (const RowKind kind : {RowKind::kStackOffset, RowKind::kFrameOffset, RowKind::kStackLeaf, RowKind::kStackRecord,
                             RowKind::kStackReturn, RowKind::kStackPair, RowKind::kEnd, RowKind::kNoTable}) {
    EXPECT_GT(kinds[kind], 0u) << "kind " << int{static_cast<uint8_t>(kind)} << " doesn't occur there";
  }
  EXPECT_LT(kinds[RowKind::kUnsupported], compared / 1000);
}

}  // namespace
}  // namespace heaptap::unwind
