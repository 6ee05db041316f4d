#include "capture/elf/elf_headers.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <type_traits>

#include "common/base/sizes.h"

namespace heaptap::elf {
namespace {

constexpr unsigned kMaxSegments = 1024;
constexpr size_t kMaxNoteBytes = 4096;
constexpr size_t kMaxSymbolsAtOnce = 4096;

// Byte order of a file, for conversion to this machine's.
struct Order {
  bool swapped;
  template <typename T>
  T operator()(T value) const {
    return swapped ? std::byteswap(value) : value;
  }
};

constexpr bool kIsBigEndianHere = std::endian::native == std::endian::big;

Order order_of(ElfForm form) { return {form.is_big_endian != kIsBigEndianHere}; }

// As many complete entries as there are, in pieces: memory isn't allocated by the header's word.
template <typename Raw>
std::vector<Raw> read_entries(const base::ByteSource& source, uint64_t at, size_t count) {
  constexpr size_t kPiece = 512;
  std::vector<Raw> entries;
  while (entries.size() < count) {
    const size_t before = entries.size();
    const size_t wanted = std::min(kPiece, count - before);
    entries.resize(before + wanted);
    const size_t got =
        source.read_some(at + before * sizeof(Raw), &entries[before], wanted * sizeof(Raw)) / sizeof(Raw);
    entries.resize(before + got);
    if (got < wanted) break;
  }
  return entries;
}

template <typename Raw>
ElfSegment segment_of(const Raw& raw, Order order) {
  return {.type = order(raw.p_type),
          .flags = order(raw.p_flags),
          .offset = order(raw.p_offset),
          .address = order(raw.p_vaddr),
          .file_bytes = order(raw.p_filesz),
          .memory_bytes = order(raw.p_memsz),
          .alignment = order(raw.p_align)};
}

template <typename Raw>
std::vector<ElfSegment> segments_of(const base::ByteSource& source, uint64_t at, size_t count, Order order) {
  std::vector<ElfSegment> segments;
  for (const Raw& raw : read_entries<Raw>(source, at, count)) segments.push_back(segment_of(raw, order));
  return segments;
}

// From the table of section names.
std::string name_at(const std::string& names, uint64_t at) {
  if (at >= names.size()) return {};
  const auto begin = static_cast<size_t>(at);
  return names.substr(begin, names.find('\0', begin) - begin);
}

template <typename Raw>
std::vector<ElfSection> sections_of(const base::ByteSource& source, uint64_t at, unsigned count, unsigned names_index,
                                    Order order) {
  constexpr uint64_t kMaxNamesBytes = 1 << 20;
  const std::vector<Raw> raw_sections = read_entries<Raw>(source, at, count);
  std::string names;
  if (names_index < raw_sections.size()) {
    const Raw& raw = raw_sections[names_index];
    names.resize(static_cast<size_t>(std::min<uint64_t>(order(raw.sh_size), kMaxNamesBytes)));
    names.resize(source.read_some(order(raw.sh_offset), names.data(), names.size()));
  }
  std::vector<ElfSection> sections;
  for (const Raw& raw : raw_sections) {
    sections.push_back({.name = name_at(names, order(raw.sh_name)),
                        .type = order(raw.sh_type),
                        .flags = order(raw.sh_flags),
                        .address = order(raw.sh_addr),
                        .offset = order(raw.sh_offset),
                        .bytes = order(raw.sh_size),
                        .link = order(raw.sh_link),
                        .entry_bytes = order(raw.sh_entsize)});
  }
  return sections;
}

template <typename Raw>
std::vector<ElfSymbol> symbols_of(const base::ByteSource& source, uint64_t at, size_t count, Order order) {
  std::vector<ElfSymbol> symbols;
  symbols.reserve(count);
  for (const Raw& raw : read_entries<Raw>(source, at, count)) {
    symbols.push_back({.name = order(raw.st_name),
                       .type = static_cast<uint8_t>(ELF32_ST_TYPE(raw.st_info)),
                       .binding = static_cast<uint8_t>(ELF32_ST_BIND(raw.st_info)),
                       .section = order(raw.st_shndx),
                       .value = order(raw.st_value),
                       .size_bytes = order(raw.st_size)});
  }
  return symbols;
}

}  // namespace

size_t FileBytes::read_some(uint64_t offset, void* to, size_t bytes) const {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got = pread(file_, static_cast<char*>(to) + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

ElfForm ElfForm::of_this_machine(unsigned word_bytes) {
  return {.word_bytes = word_bytes, .is_big_endian = kIsBigEndianHere};
}

uint64_t ElfForm::number(const uint8_t* at, unsigned bytes) const {
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) {
    const unsigned shift = 8 * (is_big_endian ? bytes - 1 - i : i);
    value |= static_cast<uint64_t>(at[i]) << shift;
  }
  return value;
}

std::optional<ElfHeaders> ElfHeaders::read(const base::ByteSource& source, uint64_t at) {
  std::array<uint8_t, EI_NIDENT> identity{};
  if (source.read_some(at, identity.data(), identity.size()) != identity.size() ||
      std::memcmp(identity.data(), ELFMAG, SELFMAG) != 0) {
    return std::nullopt;
  }
  const uint8_t word_class = identity[EI_CLASS];
  const uint8_t byte_order = identity[EI_DATA];
  if ((word_class != ELFCLASS32 && word_class != ELFCLASS64) ||
      (byte_order != ELFDATA2LSB && byte_order != ELFDATA2MSB)) {
    return std::nullopt;
  }
  ElfHeaders file;
  file.form_ = {word_class == ELFCLASS64 ? 8u : 4u, byte_order == ELFDATA2MSB};
  const Order order = order_of(file.form_);
  const auto take = [&]<typename Header, typename Segment>(const std::vector<Header>& headers,
                                                           std::type_identity<Segment>) {
    if (headers.empty()) return false;
    const Header& header = headers[0];
    file.type_ = order(header.e_type);
    file.machine_ = order(header.e_machine);
    file.entry_ = order(header.e_entry);
    file.sections_offset_ = order(header.e_shoff);
    file.sections_ = file.sections_offset_ == 0 ? 0 : order(header.e_shnum);
    file.section_names_ = order(header.e_shstrndx);
    if (order(header.e_phentsize) != sizeof(Segment)) return true;
    file.segments_ = segments_of<Segment>(source, at + order(header.e_phoff),
                                          std::min<unsigned>(order(header.e_phnum), kMaxSegments), order);
    return true;
  };
  const bool taken = file.form_.word_bytes == 8
                         ? take(read_entries<Elf64_Ehdr>(source, at, 1), std::type_identity<Elf64_Phdr>())
                         : take(read_entries<Elf32_Ehdr>(source, at, 1), std::type_identity<Elf32_Phdr>());
  if (!taken) return std::nullopt;
  return file;
}

std::vector<ElfSegment> read_segments(const base::ByteSource& source, uint64_t at, size_t count, ElfForm form) {
  const Order order = order_of(form);
  return form.word_bytes == 8 ? segments_of<Elf64_Phdr>(source, at, count, order)
                              : segments_of<Elf32_Phdr>(source, at, count, order);
}

std::vector<ElfSection> ElfHeaders::read_sections(const base::ByteSource& source) const {
  const Order order = order_of(form_);
  return form_.word_bytes == 8 ? sections_of<Elf64_Shdr>(source, sections_offset_, sections_, section_names_, order)
                               : sections_of<Elf32_Shdr>(source, sections_offset_, sections_, section_names_, order);
}

const ElfSection* find_section(const std::vector<ElfSection>& sections, std::string_view name) {
  const auto found = std::ranges::find(sections, name, &ElfSection::name);
  return found == sections.end() ? nullptr : &*found;
}

size_t symbol_bytes(ElfForm form) { return form.word_bytes == 8 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym); }

std::vector<ElfSymbol> read_symbols(const base::ByteSource& source, ElfForm form, uint64_t at, uint64_t most) {
  const size_t count = base::at_most(kMaxSymbolsAtOnce, most);
  const Order order = order_of(form);
  return form.word_bytes == 8 ? symbols_of<Elf64_Sym>(source, at, count, order)
                              : symbols_of<Elf32_Sym>(source, at, count, order);
}

std::vector<uint8_t> find_note(const base::ByteSource& source, ElfForm form, uint64_t at, uint64_t bytes,
                               std::string_view owner, uint32_t type) {
  std::vector<uint8_t> notes(base::at_most(kMaxNoteBytes, bytes));
  notes.resize(source.read_some(at, notes.data(), notes.size()));
  constexpr size_t kHeaderBytes = 12;  // sizes of name and value, type
  const auto padded = [](size_t size) { return (size + 3) & ~size_t{3}; };
  for (size_t here = 0; here + kHeaderBytes <= notes.size();) {
    const size_t name = here + kHeaderBytes;
    const uint64_t claimed_name_bytes = form.number(&notes[here], 4);
    const uint64_t claimed_value_bytes = form.number(&notes[here + 4], 4);
    if (claimed_name_bytes > notes.size() - name) break;
    const auto name_bytes = static_cast<size_t>(claimed_name_bytes);
    const size_t value = name + padded(name_bytes);
    if (value > notes.size() || claimed_value_bytes > notes.size() - value) break;
    const auto value_bytes = static_cast<size_t>(claimed_value_bytes);
    const std::string_view text(reinterpret_cast<const char*>(notes.data()) + name, name_bytes);
    if (form.number(&notes[here + 8], 4) == type && text.substr(0, text.find('\0')) == owner) {
      const auto* begin = notes.data() + value;
      return {begin, begin + value_bytes};
    }
    here = value + padded(value_bytes);
  }
  return {};
}

std::string read_text(const base::ByteSource& source, uint64_t at, size_t most) {
  std::string text(most, '\0');
  text.resize(source.read_some(at, text.data(), most));
  const size_t end = text.find('\0');
  if (end != std::string::npos) text.resize(end);
  return text;
}

}  // namespace heaptap::elf
