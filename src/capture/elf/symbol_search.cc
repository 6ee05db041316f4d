#include "capture/elf/symbol_search.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>

namespace heaptap::elf {
namespace {

constexpr uint64_t kMaxStrings = uint64_t{1} << 30;
constexpr uint64_t kMaxSymbols = uint64_t{1} << 26;
constexpr size_t kChunkBytes = size_t{64} << 10;
constexpr size_t kMaxFound = 65536;  // places and symbols; a linker's file has fewer

// Offsets in the string table: each with its name's index.
using Places = std::unordered_map<uint32_t, size_t>;

// Names by their last letter.
class Endings {
 public:
  explicit Endings(std::span<const std::string_view> names) : names_(names) {
    for (size_t i = 0; i < names.size(); ++i) {
      longest_ = std::max(longest_, names[i].size());
      if (!names[i].empty()) by_letter_[static_cast<uint8_t>(names[i].back())].push_back(i);
    }
  }
  [[nodiscard]] size_t longest() const { return longest_; }

  // `text` ends at a string's end, and begins at `offset` in the table. Strings may share their ends.
  void note(std::string_view text, uint64_t offset, Places& places) const {
    if (text.empty()) return;
    for (const size_t i : by_letter_[static_cast<uint8_t>(text.back())]) {
      if (!text.ends_with(names_[i])) continue;
      places.emplace(static_cast<uint32_t>(offset + text.size() - names_[i].size()), i);
    }
  }

 private:
  std::span<const std::string_view> names_;
  size_t longest_ = 0;
  std::array<std::vector<size_t>, 256> by_letter_;
};

Places find_places(const base::ByteSource& source, const SymbolTable& table, std::span<const std::string_view> names) {
  Places places;
  const Endings endings(names);
  const size_t longest = endings.longest();
  const uint64_t end = std::min(table.strings_bytes, kMaxStrings);
  std::vector<char> chunk(kChunkBytes + longest);
  size_t kept = 0;  // from the last chunk, before this one
  for (uint64_t at = 0; at < end && places.size() < kMaxFound;) {
    const auto wanted = static_cast<size_t>(std::min<uint64_t>(kChunkBytes, end - at));
    const size_t got = source.read_some(table.strings + at, chunk.data() + kept, wanted);
    const std::string_view text(chunk.data(), kept + got);
    for (size_t zero = text.find('\0', kept); zero != std::string_view::npos; zero = text.find('\0', zero + 1)) {
      const size_t begin = zero > longest ? zero - longest : 0;
      endings.note(text.substr(begin, zero - begin), at - kept + begin, places);
    }
    if (got < wanted) break;
    at += got;
    kept = std::min(longest, text.size());
    std::memmove(chunk.data(), text.data() + text.size() - kept, kept);
  }
  return places;
}

}  // namespace

SymbolTable table_in_file(ElfForm form, const std::vector<ElfSection>& sections, uint32_t type) {
  for (const ElfSection& section : sections) {
    if (section.type != type || section.entry_bytes != symbol_bytes(form) || section.link >= sections.size()) continue;
    const ElfSection& strings = sections[section.link];
    if (strings.type != SHT_STRTAB || ((section.flags | strings.flags) & SHF_COMPRESSED) != 0) continue;
    return {section.offset, std::min(section.bytes / section.entry_bytes, kMaxSymbols), strings.offset, strings.bytes};
  }
  return {};
}

void search_symbols(const base::ByteSource& source, ElfForm form, const SymbolTable& table,
                    std::span<const std::string_view> names, const SymbolFound& found) {
  if (table.count == 0) return;
  const Places places = find_places(source, table, names);
  if (places.empty()) return;
  size_t count = 0;
  for (uint64_t first = 0; first < table.count && count < kMaxFound;) {
    const auto symbols = read_symbols(source, form, table.symbols + first * symbol_bytes(form), table.count - first);
    for (size_t i = 0; i < symbols.size(); ++i) {
      const auto place = places.find(symbols[i].name);
      if (place == places.end()) continue;
      found(place->second, symbols[i], first + i);
      ++count;
    }
    if (symbols.empty()) return;
    first += symbols.size();
  }
}

}  // namespace heaptap::elf
