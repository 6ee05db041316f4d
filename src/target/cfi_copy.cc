#include "target/cfi_copy.h"

#include <sys/mman.h>

#include <algorithm>

#include "arch/i386/registers.h"
#include "arch/x86_64/registers.h"
#include "unwind/cfi.h"

namespace heaptap::target {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kMostEntryBytes = 65536;
constexpr uint64_t kMostFunctions = 1u << 22;

}  // namespace

CfiCopy::CfiCopy(const ProcessMemory& memory, const ModuleImage& module)
    : memory_(memory), range_(module.unwind_segment), header_(module.unwind_header) {
  range_.begin &= ~(kPageBytes - 1);
  constexpr uint64_t kMostBytes = uint64_t{4} << 30;
  if (header_ == 0 || !range_.contains(header_) || range_.size() > kMostBytes) return;
  void* copy = mmap(nullptr, range_.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (copy == MAP_FAILED) return;
  copy_ = static_cast<uint8_t*>(copy);
  // Version, three encodings, address of .eh_frame (4 bytes as linkers write it), number of functions, the table.
  const uint64_t functions = memory_.value<uint32_t>(header_ + 8).value_or(0);
  fill(header_, 12 + 8 * std::min(functions, kMostFunctions));
}

CfiCopy::~CfiCopy() {
  if (copy_ != nullptr) munmap(copy_, range_.size());
}

void CfiCopy::fill(uint64_t begin, uint64_t bytes) {
  if (!range_.contains(begin)) return;
  const uint64_t end = std::min(begin + bytes, range_.end);
  for (uint64_t page = begin & ~(kPageBytes - 1); page < end; page += kPageBytes) {
    if (!filled_.insert(page).second) continue;
    const uint64_t size = std::min(kPageBytes, range_.end - page);
    memory_.read(page, {copy_ + (page - range_.begin), size});
  }
}

uint64_t CfiCopy::fill_entry(uint64_t address) {
  fill(address, 16);
  const unwind::CfiTables tables{range_.begin, range_.end, copy_, header_};
  unwind::ByteReader reader = tables.reader_at(address);
  const uint64_t length = reader.fixed<uint32_t>();
  const uint64_t distance = reader.fixed<uint32_t>();
  fill(address, std::min(length + 4, kMostEntryBytes));
  return reader.ok() ? distance : 0;
}

template <typename Cpu>
unwind::Row CfiCopy::row_for(uint64_t pc) {
  constexpr unwind::Row kNoTable{unwind::RowKind::kNoTable, 0, 0, 0};
  if (copy_ == nullptr) return kNoTable;
  const unwind::CfiTables tables{range_.begin, range_.end, copy_, header_};
  const uint64_t entry = unwind::cfi::find_fde<Cpu>(tables, pc);
  if (entry == 0) return kNoTable;
  const uint64_t distance = fill_entry(entry);
  if (distance != 0) fill_entry(entry + 4 - distance);
  return unwind::find_row<Cpu>(tables, pc);
}

template unwind::Row CfiCopy::row_for<arch::x86_64::Unwinding>(uint64_t);
template unwind::Row CfiCopy::row_for<arch::i386::Unwinding>(uint64_t);

}  // namespace heaptap::target
