#include "collect/past_hooks.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "elf/elf_file.h"
#include "elf/object_file.h"

namespace heaptap::collect {
namespace {

constexpr std::array<std::string_view, 7> kInnerNames = {"__libc_malloc",  "__libc_free",     "__libc_calloc",
                                                         "__libc_realloc", "__libc_memalign", "__libc_valloc",
                                                         "__libc_pvalloc"};
constexpr uint64_t kMaxNameTableBytes = uint64_t{64} << 20;  // of a table of names

// Offsets in the table at which one of the names stands as a whole.
std::vector<uint32_t> places_of_names(std::string_view names) {
  std::vector<uint32_t> places;
  for (const std::string_view name : kInnerNames) {
    std::string whole(name.size() + 2, '\0');
    std::ranges::copy(name, whole.begin() + 1);
    const size_t at = names.find(whole);
    if (at != names.npos) places.push_back(static_cast<uint32_t>(at + 1));
  }
  return places;
}

bool needs_one(const elf::FileBytes& bytes, const elf::ElfFile& elf, const elf::ElfSection& symbols,
               const std::vector<uint32_t>& names) {
  const uint64_t each = elf::symbol_bytes(elf.form());
  for (uint64_t done = 0; done * each < symbols.bytes;) {
    const auto some = elf::read_symbols(bytes, elf.form(), symbols.offset + done * each, symbols.bytes / each - done);
    if (some.empty()) return false;
    const bool found = std::ranges::any_of(some, [&](const elf::ElfSymbol& symbol) {
      return symbol.section == 0 && std::ranges::find(names, symbol.name) != names.end();
    });
    if (found) return true;
    done += some.size();
  }
  return false;
}

}  // namespace

bool goes_past_hooks(pid_t process, const std::string& path) {
  const base::UniqueFd file = elf::open_as_seen_by(process, path);
  if (!file) return false;
  const elf::FileBytes bytes(file.get());
  const auto elf = elf::ElfFile::read(bytes);
  if (!elf) return false;
  const std::vector<elf::ElfSection> sections = elf->read_sections(bytes);
  const elf::ElfSection* symbols = elf::find_section(sections, ".dynsym");
  if (symbols == nullptr || symbols->link >= sections.size() || sections[symbols->link].bytes > kMaxNameTableBytes)
    return false;
  const elf::ElfSection& names = sections[symbols->link];
  std::string text(names.bytes, '\0');
  text.resize(bytes.read(names.offset, text.data(), text.size()));
  const std::vector<uint32_t> places = places_of_names(text);
  return !places.empty() && needs_one(bytes, *elf, *symbols, places);
}

}  // namespace heaptap::collect
