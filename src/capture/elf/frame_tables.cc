#include "capture/elf/frame_tables.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <vector>

#include "common/arch/walked_cpus.h"
#include "common/base/pages.h"
#include "common/base/sizes.h"
#include "common/unwind/cfi.h"
#include "common/unwind/fde_scan.h"

namespace heaptap::elf {
namespace {

using unwind::CfiTables;
using unwind::Row;
using unwind::RowKind;

constexpr Row kNoTable(RowKind::kNoTable);
constexpr uint64_t kMaxRangeBytes = uint64_t{4} << 30;
constexpr uint64_t kMaxEntryBytes = 65536;
constexpr size_t kMaxTableBytes = 256u << 20;
constexpr uint64_t kMaxFunctions = 1u << 22;

std::vector<uint8_t> read_file(int file, uint64_t offset, uint64_t bytes) {
  struct stat status{};
  if (fstat(file, &status) != 0 || offset >= static_cast<uint64_t>(status.st_size)) return {};
  std::vector<uint8_t> content(
      base::at_most(kMaxTableBytes, std::min(bytes, static_cast<uint64_t>(status.st_size) - offset)));
  size_t have = 0;
  while (have < content.size()) {
    const ssize_t got = pread(file, content.data() + have, content.size() - have, static_cast<off_t>(offset + have));
    if (got <= 0) break;
    have += static_cast<size_t>(got);
  }
  content.resize(have);
  return content;
}

}  // namespace

// Copy of the memory that contains the tables, filled page by page on demand.
class FrameTables::Copy {
 public:
  Copy(base::AddressRange range, uint64_t header, const base::ByteSource& memory)
      : range_(range), header_(header), memory_(memory) {
    range_.begin = base::page_begin(range_.begin);
    const auto size =
        range_.end > range_.begin && range_.size() <= kMaxRangeBytes ? base::as_size(range_.size()) : std::nullopt;
    if (!size) return;
    void* copy = mmap(nullptr, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (copy == MAP_FAILED) return;
    bytes_ = static_cast<uint8_t*>(copy);
    size_ = *size;
  }
  ~Copy() {
    if (bytes_ != nullptr) munmap(bytes_, size_);
  }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  [[nodiscard]] bool is_made() const { return bytes_ != nullptr; }
  [[nodiscard]] CfiTables tables() const { return {range_.begin, range_.end, bytes_, header_}; }

  void fill(uint64_t begin, uint64_t bytes) {
    if (!is_made() || !range_.contains(begin)) return;
    const uint64_t end = begin + std::min(bytes, range_.end - begin);
    const uint64_t page_bytes = base::page_bytes();
    for (uint64_t page = base::page_begin(begin); page < end;) {
      // Missing pages in a row are read at once.
      uint64_t behind = page;
      while (behind < end && filled_.insert(behind).second) behind += page_bytes;
      const size_t size = base::at_most(size_, std::min(behind, range_.end) - page);
      if (size > 0) memory_.read_some(page, bytes_ + (page - range_.begin), size);
      page = std::max(behind, page + page_bytes);
    }
  }

  // An FDE of .eh_frame and its CIE.
  void fill_entry(uint64_t address) {
    const uint64_t distance = fill_one(address);
    if (distance != 0) fill_one(address + sizeof(uint32_t) - distance);
  }

 private:
  // Returns the distance back to its CIE; 0: none.
  uint64_t fill_one(uint64_t address) {
    fill(address, 16);
    unwind::ByteReader reader = tables().reader_at(address);
    const uint64_t length = reader.fixed<uint32_t>();
    const uint64_t distance = reader.fixed<uint32_t>();
    fill(address, std::min(length + sizeof(uint32_t), kMaxEntryBytes));
    return reader.ok() ? distance : 0;
  }

  base::AddressRange range_;
  uint64_t header_;
  const base::ByteSource& memory_;
  uint8_t* bytes_ = nullptr;
  size_t size_ = 0;
  std::unordered_set<uint64_t> filled_;
};

// Index of entries by address, for tables without a search table.
class FrameTables::Index {
 public:
  explicit Index(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)) {}

  [[nodiscard]] CfiTables file_tables() const { return {0, bytes_.size(), bytes_.data(), 0}; }

  template <typename Cpu, typename Form>
  void make(const CfiTables& tables, uint64_t start) {
    unwind::for_each_fde<Cpu, Form>(
        tables, start, [this](uint64_t begin, uint64_t end, uint64_t fde) { entries_.push_back({begin, end, fde}); });
    std::ranges::sort(entries_, {}, &Entry::begin);
  }

  // Null: none. An offset may be 0: that of the section's first entry.
  [[nodiscard]] const uint64_t* find(uint64_t pc) const {
    const auto behind = std::ranges::upper_bound(entries_, pc, {}, &Entry::begin);
    if (behind == entries_.begin() || pc >= std::prev(behind)->end) return nullptr;
    return &std::prev(behind)->fde;
  }

 private:
  struct Entry {
    uint64_t begin;
    uint64_t end;
    uint64_t fde;
  };
  std::vector<uint8_t> bytes_;
  std::vector<Entry> entries_;
};

FrameTables::FrameTables(FrameTablePlaces places, const base::ByteSource& memory) : places_(places) {
  copy_ = std::make_unique<Copy>(places_.range, places_.header, memory);
  if (copy_->is_made() && places_.header != 0 && places_.range.contains(places_.header)) read_header();
}

// Copies the search table, if its encoding is the one that find_fde() supports; else only its pointer to .eh_frame is
// used.
void FrameTables::read_header() {
  constexpr uint64_t kMaxHeadBytes = 32;
  copy_->fill(places_.header, kMaxHeadBytes);
  unwind::ByteReader reader = copy_->tables().reader_at(places_.header);
  const uint8_t version = reader.u8();
  const uint8_t frame_encoding = reader.u8();
  const uint8_t count_encoding = reader.u8();
  const uint8_t table_encoding = reader.u8();
  if (version != 1 || frame_encoding == unwind::kPointerOmitted) return;
  const uint64_t table = reader.pointer(frame_encoding, places_.header, places_.word_bytes);
  const uint64_t functions = reader.fixed<uint32_t>();
  if (count_encoding == unwind::kPointerU4 && table_encoding == (unwind::kPointerDataRelative | unwind::kPointerS4) &&
      reader.ok() && functions > 0) {
    copy_->fill(reader.address(), 2 * sizeof(uint32_t) * std::min(functions, kMaxFunctions));
    header_is_usable_ = true;
  } else if (places_.table == 0 && places_.range.contains(table)) {
    places_.table = table;
    places_.table_bytes = places_.range.end - table;
  }
}

FrameTables::~FrameTables() = default;

template <typename Cpu>
Row FrameTables::row_for(uint64_t pc) {
  const uint64_t entry = entry_in_memory<Cpu>(pc);
  const Row row = entry != 0 ? unwind::row_of_fde<Cpu>(copy_->tables(), entry, pc) : kNoTable;
  return row.kind() == RowKind::kNoTable && places_.file_bytes != 0 ? row_by_file<Cpu>(pc) : row;
}

template <typename Cpu>
base::AddressRange FrameTables::function_at(uint64_t pc) {
  const unwind::Extent extent = unwind::extent_of_fde<Cpu>(copy_->tables(), entry_in_memory<Cpu>(pc));
  return extent.contains(pc) ? base::AddressRange{extent.begin, extent.begin + extent.bytes} : base::AddressRange{};
}

// The only entry of .eh_frame that can cover pc. 0: none.
template <typename Cpu>
uint64_t FrameTables::entry_in_memory(uint64_t pc) {
  if (header_is_usable_) return entry_by_header<Cpu>(pc);
  return places_.table != 0 && places_.table_bytes != 0 ? entry_by_table<Cpu>(pc) : 0;
}

template <typename Cpu>
uint64_t FrameTables::entry_by_header(uint64_t pc) {
  const uint64_t entry = unwind::cfi::find_fde<Cpu>(copy_->tables(), pc);
  if (entry != 0) copy_->fill_entry(entry);
  return entry;
}

template <typename Cpu>
uint64_t FrameTables::entry_by_table(uint64_t pc) {
  if (!table_index_) {
    table_index_ = std::make_unique<Index>(std::vector<uint8_t>());
    const uint64_t bytes = std::min<uint64_t>(places_.table_bytes, kMaxTableBytes);
    copy_->fill(places_.table, bytes);
    CfiTables tables = copy_->tables();
    if (tables.mapped != nullptr && places_.table < tables.end) {
      tables.end = places_.table + std::min(bytes, tables.end - places_.table);
      table_index_->make<Cpu, unwind::cfi::EhFrame>(tables, places_.table);
    }
  }
  const uint64_t* entry = table_index_->find(pc);
  return entry != nullptr ? *entry : 0;
}

template <typename Cpu>
Row FrameTables::row_by_file(uint64_t pc) {
  if (!file_index_) {
    file_index_ = std::make_unique<Index>(read_file(places_.file, places_.file_offset, places_.file_bytes));
    file_index_->make<Cpu, unwind::cfi::DebugFrame>(file_index_->file_tables(), 0);
  }
  const uint64_t* entry = file_index_->find(pc - places_.bias);
  if (entry == nullptr) return kNoTable;
  return unwind::row_of_fde<Cpu, unwind::cfi::DebugFrame>(file_index_->file_tables(), *entry, pc - places_.bias);
}

#define HEAPTAP_INSTANTIATE(cpu)                                        \
  template Row FrameTables::row_for<arch::cpu::Unwinding>(uint64_t pc); \
  template base::AddressRange FrameTables::function_at<arch::cpu::Unwinding>(uint64_t pc);
HEAPTAP_WALKED_CPUS(HEAPTAP_INSTANTIATE)
#undef HEAPTAP_INSTANTIATE

}  // namespace heaptap::elf
