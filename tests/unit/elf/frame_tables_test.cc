// Tables of unwind rules that are loaded here, looked up in all the ways that there are.
#include "capture/elf/frame_tables.h"

#include <gtest/gtest.h>
#include <link.h>

#include <cstring>
#include <vector>

#include "common/arch/native.h"
#include "common/unwind/cfi.h"

namespace heaptap::elf {
namespace {

using Cpu = arch::native::Unwinding;

// The C library, which this test is linked with.
struct Library {
  FrameTablePlaces places;
  base::AddressRange code;
  unwind::CfiTables tables;
};

int find_library(dl_phdr_info* object, size_t, void* context) {
  if (std::strstr(object->dlpi_name, "libc.so") == nullptr) return 0;
  auto& library = *static_cast<Library*>(context);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const uint64_t start = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) library.places.header = start;
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) library.code = {start, start + segment.p_memsz};
  }
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const uint64_t start = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && library.places.header - start < segment.p_memsz) {
      library.places.range = {start, start + segment.p_memsz};
    }
  }
  return 1;
}

// The source of their bytes, too.
class FrameTablesTest : public ::testing::Test, public base::ByteSource {
 protected:
  void SetUp() override {
    dl_iterate_phdr(find_library, &library_);
    if (library_.places.header == 0) GTEST_SKIP() << "no C library of its own here";
    const base::AddressRange range = library_.places.range;
    bytes_.resize(range.size());
    std::memcpy(bytes_.data(), reinterpret_cast<const void*>(range.begin), bytes_.size());
    library_.tables = {range.begin, range.end, bytes_.data(), library_.places.header};
  }
  size_t read_some(uint64_t address, void* to, size_t bytes) const override {
    const base::AddressRange range = library_.places.range;
    if (address < range.begin || address >= range.end) return 0;
    const size_t readable = std::min<size_t>(bytes, range.end - address);
    std::memcpy(to, bytes_.data() + (address - range.begin), readable);
    return readable;
  }
  // As many as there are rows in a function's code.
  void expect_same_rows(FrameTables& tables) {
    uint64_t rows = 0;
    for (uint64_t pc = library_.code.begin; pc < library_.code.end; pc += 61) {
      const unwind::Row expected = unwind::find_row<Cpu>(library_.tables, pc);
      ASSERT_EQ(tables.row_for<Cpu>(pc), expected) << std::hex << pc;
      rows += expected.kind() == unwind::RowKind::kNoTable ? 0 : 1;
    }
    EXPECT_GT(rows, 1000u);
  }

  Library library_;
  std::vector<uint8_t> bytes_;
};

TEST_F(FrameTablesTest, BySearchTable) {
  FrameTables tables(library_.places, *this);
  expect_same_rows(tables);
}

TEST_F(FrameTablesTest, WithoutASearchTable) {
  unwind::ByteReader header = library_.tables.reader_at(library_.places.header + 1);
  const uint8_t encoding = header.u8();
  header.skip(2);
  FrameTablePlaces places = library_.places;
  places.header = 0;
  places.table = header.pointer(encoding, library_.places.header, sizeof(uint64_t));
  places.table_bytes = places.range.end - places.table;
  FrameTables tables(places, *this);
  expect_same_rows(tables);
}

TEST_F(FrameTablesTest, WithASearchTableOfAnotherForm) {
  // What a linker writes that couldn't make one.
  uint8_t* header = bytes_.data() + (library_.places.header - library_.places.range.begin);
  const uint8_t before[2] = {header[2], header[3]};
  header[2] = header[3] = unwind::kPointerOmitted;
  FrameTables tables(library_.places, *this);
  header[2] = before[0];
  header[3] = before[1];
  expect_same_rows(tables);
}

TEST_F(FrameTablesTest, NoTablesAtAll) {
  FrameTables tables({}, *this);
  EXPECT_EQ(tables.row_for<Cpu>(library_.code.begin + 100).kind(), unwind::RowKind::kNoTable);
}

}  // namespace
}  // namespace heaptap::elf
