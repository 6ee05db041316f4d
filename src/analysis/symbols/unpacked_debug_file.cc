#include "analysis/symbols/unpacked_debug_file.h"

#include <elf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "analysis/symbols/section_inflater.h"
#include "common/base/pages.h"

namespace heaptap::symbols {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 32;
// Maximum ratio of deflate. zstd could exceed it, but not with debug information.
constexpr uint64_t kMaxInflation = 1032;
constexpr std::string_view kInfo = ".debug_info";
constexpr std::string_view kLine = ".debug_line";
constexpr std::string_view kAddressRanges = ".debug_aranges";
// Sections that libdw isn't asked for: locations of local variables, macros, and other indexes.
constexpr std::array<std::string_view, 9> kUnwanted = {".debug_loclists",     ".debug_loc",          ".debug_macro",
                                                       ".debug_macinfo",      ".debug_pubnames",     ".debug_pubtypes",
                                                       ".debug_gnu_pubnames", ".debug_gnu_pubtypes", ".debug_names"};

template <typename T>
T read_at(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

}  // namespace

struct UnpackedDebugFile::Section {
  std::string_view name;
  uint64_t stored_at = 0;  // in the file on disk
  uint64_t stored_bytes = 0;
  uint64_t begin = 0;  // in the file in memory
  uint64_t bytes = 0;
  uint32_t compression = 0;                             // ELFCOMPRESS_…; 0: not compressed
  std::unique_ptr<SectionInflater> inflater = nullptr;  // of a compressed section
};

UnpackedDebugFile::UnpackedDebugFile() = default;

UnpackedDebugFile::~UnpackedDebugFile() {
  sections_.clear();
  if (packed_.begin != nullptr) munmap(packed_.begin, packed_.bytes);
  if (unpacked_.begin != nullptr) munmap(unpacked_.begin, unpacked_.bytes);
}

std::unique_ptr<UnpackedDebugFile> UnpackedDebugFile::create(int descriptor) {
  auto file = list(descriptor);
  if (file == nullptr) return nullptr;
  const Section* info = file->find(kInfo);
  const bool pays = info != nullptr && info->compression != 0 && file->find(kAddressRanges) != nullptr;
  if (!pays && !file->has_zstd()) return nullptr;
  return file->make_file() ? std::move(file) : nullptr;
}

std::unique_ptr<UnpackedDebugFile> UnpackedDebugFile::create_readable(int descriptor) {
  auto file = list(descriptor);
  return file != nullptr && file->has_zstd() && file->make_file() ? std::move(file) : nullptr;
}

std::unique_ptr<UnpackedDebugFile> UnpackedDebugFile::list(int descriptor) {
  std::unique_ptr<UnpackedDebugFile> file(new UnpackedDebugFile());
  const bool is_listed = file->map_packed(descriptor) && file->read_headers() && file->list_sections();
  return is_listed ? std::move(file) : nullptr;
}

bool UnpackedDebugFile::has_zstd() const {
  return std::ranges::any_of(sections_, [](const Section& each) { return each.compression == SectionInflater::kZstd; });
}

bool UnpackedDebugFile::map_packed(int descriptor) {
  struct stat status{};
  if (fstat(descriptor, &status) != 0) return false;
  const auto bytes = static_cast<uint64_t>(status.st_size);
  if (bytes < sizeof(Elf64_Ehdr) || bytes > kMaxBytes) return false;
  void* mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (mapped == MAP_FAILED) return false;
  packed_ = {static_cast<uint8_t*>(mapped), bytes};
  return true;
}

// Only files of this machine's kind: others are rare, and libdw decompresses them itself.
bool UnpackedDebugFile::read_headers() {
  const auto file = read_at<Elf64_Ehdr>(packed_.begin);
  constexpr uint8_t kNative = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  if (std::memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 || file.e_ident[EI_CLASS] != ELFCLASS64 ||
      file.e_ident[EI_DATA] != kNative || file.e_shentsize != sizeof(Elf64_Shdr) || file.e_shnum == 0 ||
      file.e_shstrndx >= file.e_shnum) {
    return false;
  }
  const uint64_t bytes = uint64_t{file.e_shnum} * sizeof(Elf64_Shdr);
  if (file.e_shoff > packed_.bytes || bytes > packed_.bytes - file.e_shoff) return false;
  headers_.assign(packed_.begin + file.e_shoff, packed_.begin + file.e_shoff + bytes);
  return true;
}

// Appends the unpacked sections.
bool UnpackedDebugFile::list_sections() {
  const auto header_at = [this](size_t index) { return read_at<Elf64_Shdr>(&headers_[index * sizeof(Elf64_Shdr)]); };
  const auto names = header_at(read_at<Elf64_Ehdr>(packed_.begin).e_shstrndx);
  if (names.sh_offset > packed_.bytes || names.sh_size > packed_.bytes - names.sh_offset || names.sh_size == 0)
    return false;
  const char* text = reinterpret_cast<const char*>(packed_.begin) + names.sh_offset;
  if (text[names.sh_size - 1] != '\0') return false;
  uint64_t end = base::whole_pages(packed_.bytes);
  for (size_t i = 0; i * sizeof(Elf64_Shdr) < headers_.size(); ++i) {
    auto header = header_at(i);
    if (header.sh_type == SHT_NOBITS || header.sh_name >= names.sh_size) continue;
    const std::string_view name(text + header.sh_name);
    if (!name.starts_with(".debug_")) continue;
    if (header.sh_offset > packed_.bytes || header.sh_size > packed_.bytes - header.sh_offset) return false;
    if ((header.sh_flags & SHF_COMPRESSED) == 0) {
      sections_.push_back({.name = name,
                           .stored_at = header.sh_offset,
                           .stored_bytes = header.sh_size,
                           .begin = header.sh_offset,
                           .bytes = header.sh_size});
      continue;
    }
    if (header.sh_size < sizeof(Elf64_Chdr)) return false;
    const auto compression = read_at<Elf64_Chdr>(packed_.begin + header.sh_offset);
    const uint64_t stored_bytes = header.sh_size - sizeof(compression);
    if (!SectionInflater::knows(compression.ch_type) || compression.ch_size > kMaxBytes ||
        compression.ch_size > (stored_bytes + 64) * kMaxInflation) {
      return false;
    }
    header.sh_flags &= ~uint64_t{SHF_COMPRESSED};
    if (std::ranges::find(kUnwanted, name) != kUnwanted.end()) {
      header.sh_type = SHT_NOBITS;
    } else {
      if (find(name) != nullptr) return false;
      sections_.push_back({.name = name,
                           .stored_at = header.sh_offset + sizeof(compression),
                           .stored_bytes = stored_bytes,
                           .begin = end,
                           .bytes = compression.ch_size,
                           .compression = compression.ch_type});
      header.sh_offset = end;
      end += base::whole_pages(compression.ch_size);
    }
    header.sh_size = compression.ch_size;
    header.sh_addralign = std::max<uint64_t>(compression.ch_addralign, 1);
    std::memcpy(&headers_[i * sizeof(header)], &header, sizeof(header));
  }
  unpacked_.bytes = end;
  return true;
}

bool UnpackedDebugFile::make_file() {
  descriptor_.reset(memfd_create("heaptap-debug", MFD_CLOEXEC));
  if (!descriptor_ || ftruncate(descriptor_.get(), static_cast<off_t>(unpacked_.bytes)) != 0) return false;
  void* mapped = mmap(nullptr, unpacked_.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_.get(), 0);
  if (mapped == MAP_FAILED) return false;
  unpacked_.begin = static_cast<uint8_t*>(mapped);
  const auto file = read_at<Elf64_Ehdr>(packed_.begin);
  if (!copy(0, sizeof(file)) || !copy(file.e_phoff, uint64_t{file.e_phnum} * file.e_phentsize)) return false;
  for (size_t i = 0; i < headers_.size(); i += sizeof(Elf64_Shdr)) {
    const auto header = read_at<Elf64_Shdr>(&headers_[i]);
    const bool is_moved = header.sh_offset >= packed_.bytes;
    if (header.sh_type != SHT_NOBITS && header.sh_type != SHT_NULL && !is_moved &&
        !copy(header.sh_offset, header.sh_size)) {
      return false;
    }
  }
  std::memcpy(unpacked_.begin + file.e_shoff, headers_.data(), headers_.size());
  for (Section& section : sections_) {
    if (section.compression == 0) continue;
    section.inflater = std::make_unique<SectionInflater>(
        section.compression, std::span(packed_.begin + section.stored_at, section.stored_bytes),
        std::span(unpacked_.begin + section.begin, section.bytes));
    const bool is_for_later = section.name == kInfo || section.name == kLine;
    if (!is_for_later && !section.inflater->inflate_to(section.bytes)) return false;
  }
  return true;
}

bool UnpackedDebugFile::copy(uint64_t offset, uint64_t bytes) {
  if (offset > packed_.bytes || bytes > packed_.bytes - offset) return false;
  std::memcpy(unpacked_.begin + offset, packed_.begin + offset, bytes);
  return true;
}

UnpackedDebugFile::Section* UnpackedDebugFile::find(std::string_view name) {
  const auto found = std::ranges::find(sections_, name, &Section::name);
  return found == sections_.end() ? nullptr : &*found;
}

std::span<const uint8_t> UnpackedDebugFile::address_ranges() const {
  const auto found = std::ranges::find(sections_, kAddressRanges, &Section::name);
  if (found == sections_.end()) return {};
  return {unpacked_.begin + found->begin, found->bytes};
}

bool UnpackedDebugFile::has(const Section& section, uint64_t end) {
  return section.inflater != nullptr ? section.inflater->inflate_to(end) : end <= section.bytes;
}

// The unit or table at `offset` begins with its length, as all in these sections.
bool UnpackedDebugFile::need(const Section* section, uint64_t offset) {
  constexpr uint64_t kLengthBytes = 4;
  constexpr uint32_t kOtherFormats = 0xfffffff0;
  if (section == nullptr || offset > section->bytes || !has(*section, offset + kLengthBytes)) return false;
  const auto length = read_at<uint32_t>(unpacked_.begin + section->begin + offset);
  return length < kOtherFormats && has(*section, offset + kLengthBytes + length);
}

bool UnpackedDebugFile::need_unit(uint64_t offset) { return need(find(kInfo), offset); }
bool UnpackedDebugFile::need_lines(uint64_t offset) { return need(find(kLine), offset); }

bool UnpackedDebugFile::unpack_more() {
  return std::ranges::any_of(sections_, [](const Section& section) {
    return section.inflater != nullptr && section.inflater->inflate_more();
  });
}

void UnpackedDebugFile::need_all() {
  for (const Section& section : sections_) has(section, section.bytes);
}

}  // namespace heaptap::symbols
