#include "capture/elf/dynamic_section.h"

#include <elf.h>

#include <algorithm>
#include <array>

namespace heaptap::elf {
namespace {

constexpr size_t kMaxSectionBytes = 64 << 10;
constexpr uint64_t kMaxHashSymbols = uint64_t{1} << 22;

// Reads 4-byte numbers in pieces, until `take` returns true or `most` are read. False: the memory ends before.
template <typename Take>
bool read_numbers(const base::ByteSource& memory, ElfForm form, uint64_t at, uint64_t most, const Take& take) {
  std::array<uint8_t, 4096> piece;
  for (uint64_t done = 0; done < most;) {
    const auto wanted = static_cast<size_t>(std::min<uint64_t>(piece.size() / 4, most - done));
    const size_t got = memory.read_some(at + done * 4, piece.data(), wanted * 4) / 4;
    for (size_t i = 0; i < got; ++i) {
      if (take(form.number(&piece[i * 4], 4))) return true;
    }
    if (got < wanted) return false;
    done += got;
  }
  return true;
}

// DT_GNU_HASH: header (4 numbers: buckets, first symbol, filter words, shift), filter, buckets, chains. The end of the
// last chain, an odd entry, is the last symbol's.
uint64_t count_by_gnu_hash(const base::ByteSource& memory, ElfForm form, uint64_t table) {
  std::array<uint8_t, 16> header{};
  if (memory.read_some(table, header.data(), header.size()) != header.size()) return 0;
  const uint64_t bucket_count = std::min(form.number(&header[0], 4), kMaxHashSymbols);
  const uint64_t first_symbol = form.number(&header[4], 4);
  const uint64_t buckets = table + header.size() + form.number(&header[8], 4) * form.word_bytes;
  const uint64_t chains = buckets + bucket_count * 4;
  uint64_t last = 0;
  const auto note = [&](uint64_t symbol) {
    last = std::max(last, symbol);
    return false;
  };
  if (!read_numbers(memory, form, buckets, bucket_count, note) || last > kMaxHashSymbols) return 0;
  if (last < first_symbol) return std::min(first_symbol, kMaxHashSymbols);
  const auto is_last = [&](uint64_t entry) {
    ++last;
    return (entry & 1) != 0;
  };
  const bool ends = read_numbers(memory, form, chains + (last - first_symbol) * 4, kMaxHashSymbols, is_last);
  return ends ? last : 0;
}

}  // namespace

DynamicSection::DynamicSection(const base::ByteSource& memory, ElfForm form, uint64_t address, uint64_t bytes,
                               uint64_t bias, base::AddressRange object)
    : form_(form), start_(address), bias_(bias), object_(object) {
  if (address == 0) return;
  std::vector<uint8_t> raw(static_cast<size_t>(std::min<uint64_t>(bytes, kMaxSectionBytes)));
  raw.resize(memory.read_some(address, raw.data(), raw.size()));
  const size_t entry_bytes = 2 * size_t{form.word_bytes};
  for (size_t at = 0; at + entry_bytes <= raw.size(); at += entry_bytes) {
    const uint64_t tag = form.number(&raw[at], form.word_bytes);
    const Entry entry{form.word_bytes == 8 ? static_cast<int64_t>(tag) : static_cast<int32_t>(tag),
                      form.number(&raw[at + form.word_bytes], form.word_bytes)};
    if (entry.tag == DT_NULL) break;
    entries_.push_back(entry);
  }
}

std::optional<uint64_t> DynamicSection::value(int64_t tag) const {
  const auto found = std::ranges::find(entries_, tag, &Entry::tag);
  if (found == entries_.end()) return std::nullopt;
  return found->value;
}

uint64_t DynamicSection::address(int64_t tag) const {
  const auto found = value(tag);
  if (!found) return 0;
  if (object_.contains(*found)) return *found;
  return object_.contains(*found + bias_) ? *found + bias_ : 0;
}

uint64_t DynamicSection::place(int64_t tag) const {
  const auto found = std::ranges::find(entries_, tag, &Entry::tag);
  if (found == entries_.end()) return 0;
  return start_ + static_cast<uint64_t>(found - entries_.begin()) * 2 * form_.word_bytes;
}

uint64_t DynamicSection::count_symbols(const base::ByteSource& memory) const {
  // DT_HASH: number of buckets, number of symbols.
  if (const uint64_t hash = address(DT_HASH); hash != 0) {
    uint64_t count = 0;
    const auto take = [&](uint64_t number) {
      count = number;
      return true;
    };
    return read_numbers(memory, form_, hash + 4, 1, take) ? std::min(count, kMaxHashSymbols) : 0;
  }
  const uint64_t hash = address(DT_GNU_HASH);
  return hash == 0 ? 0 : count_by_gnu_hash(memory, form_, hash);
}

SymbolTable DynamicSection::symbols(const base::ByteSource& memory) const {
  const SymbolTable table{address(DT_SYMTAB), count_symbols(memory), address(DT_STRTAB), value(DT_STRSZ).value_or(0)};
  return table.symbols == 0 || table.strings == 0 ? SymbolTable{} : table;
}

}  // namespace heaptap::elf
