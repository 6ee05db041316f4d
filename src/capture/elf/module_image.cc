#include "capture/elf/module_image.h"

#include <elf.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "common/base/pages.h"

namespace heaptap::elf {
namespace {

constexpr uint64_t kMaxImageSegmentBytes = uint64_t{1} << 40;  // of one segment; more is nonsense
constexpr unsigned kMaxHeaders = 128;

constexpr unsigned char kByteOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

// Both classes of headers become one.
Elf64_Phdr as_wide(const Elf64_Phdr& header) { return header; }
Elf64_Phdr as_wide(const Elf32_Phdr& header) {
  return {.p_type = header.p_type,
          .p_flags = header.p_flags,
          .p_offset = header.p_offset,
          .p_vaddr = header.p_vaddr,
          .p_paddr = header.p_paddr,
          .p_filesz = header.p_filesz,
          .p_memsz = header.p_memsz,
          .p_align = header.p_align};
}

template <typename FileHeader, typename ProgramHeader>
std::vector<Elf64_Phdr> read_headers_of(const process::ProcessMemory& memory, uint64_t address,
                                        unsigned char elf_class) {
  const auto header = memory.value<FileHeader>(address);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != elf_class ||
      header->e_ident[EI_DATA] != kByteOrder || header->e_phentsize != sizeof(ProgramHeader) ||
      header->e_phnum > kMaxHeaders || header->e_phoff > base::page_bytes()) {
    return {};
  }
  std::vector<ProgramHeader> headers(header->e_phnum);
  const std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(headers.data()), headers.size() * sizeof(ProgramHeader));
  headers.resize(memory.read(address + header->e_phoff, bytes) / sizeof(ProgramHeader));
  std::vector<Elf64_Phdr> result;
  for (const ProgramHeader& entry : headers) {
    if (entry.p_memsz <= kMaxImageSegmentBytes && entry.p_memsz != 0) result.push_back(as_wide(entry));
  }
  return result;
}

std::vector<Elf64_Phdr> read_headers(const process::ProcessMemory& memory, uint64_t address) {
  if (memory.word_bytes() == sizeof(uint32_t)) {
    return read_headers_of<Elf32_Ehdr, Elf32_Phdr>(memory, address, ELFCLASS32);
  }
  return read_headers_of<Elf64_Ehdr, Elf64_Phdr>(memory, address, ELFCLASS64);
}

// A file that the program only reads has such headers too, but its segments aren't where they say.
bool is_loaded(const process::ProcessMemory& memory, const process::Mapping& first, base::AddressRange segment,
               const Elf64_Phdr& header) {
  const process::Mapping* mapping = process::find_mapping(memory.map(), segment.begin);
  if (mapping == nullptr) return false;
  const uint64_t offset = mapping->offset + (base::page_begin(segment.begin) - mapping->range.begin);
  return mapping->inode == first.inode && mapping->name == first.name &&
         (!first.has_file() || offset == base::page_begin(header.p_offset));
}

void note_segment(ModuleImage& module, const Elf64_Phdr& header, base::AddressRange segment) {
  const base::AddressRange pages{base::page_begin(segment.begin), base::whole_pages(segment.end)};
  if ((header.p_flags & PF_W) != 0) {
    module.writable.push_back(pages);
    module.page_rests.push_back({pages.begin, segment.begin});
    module.page_rests.push_back({segment.end, pages.end});
  } else if ((header.p_flags & PF_R) != 0) {
    module.read_only.push_back(segment);
  }
  if ((header.p_flags & PF_X) != 0) module.code.push_back(segment);
}

std::optional<ModuleImage> read_module(const process::ProcessMemory& memory, const process::Mapping& first) {
  const std::vector<Elf64_Phdr> headers = read_headers(memory, first.range.begin);
  const auto at_start = std::ranges::find_if(headers, [](const Elf64_Phdr& header) {
    return header.p_type == PT_LOAD && base::page_begin(header.p_offset) == 0;
  });
  if (at_start == headers.end()) return std::nullopt;
  ModuleImage module;
  module.path = first.name;
  module.bias = first.range.begin - base::page_begin(at_start->p_vaddr);
  for (const Elf64_Phdr& header : headers) {
    const base::AddressRange range{module.bias + header.p_vaddr, module.bias + header.p_vaddr + header.p_memsz};
    if (range.end <= range.begin) continue;
    if (header.p_type == PT_LOAD && is_loaded(memory, first, range, header)) note_segment(module, header, range);
    if (header.p_type == PT_GNU_RELRO) module.read_only.push_back(range);
    if (header.p_type == PT_DYNAMIC) module.dynamic = range.begin;
    if (header.p_type == PT_GNU_EH_FRAME) module.unwind_header = range.begin;
    if (header.p_type == PT_TLS) {
      module.thread_locals = {range.begin, header.p_filesz, header.p_memsz, header.p_align};
    }
  }
  if (module.code.empty()) return std::nullopt;
  for (const Elf64_Phdr& header : headers) {
    const base::AddressRange range{module.bias + header.p_vaddr, module.bias + header.p_vaddr + header.p_filesz};
    if (header.p_type == PT_LOAD && range.contains(module.unwind_header)) module.unwind_segment = range;
  }
  return module;
}

}  // namespace

std::vector<ModuleImage> find_modules(const process::ProcessMemory& memory) {
  std::vector<ModuleImage> modules;
  for (const process::Mapping& mapping : memory.map()) {
    if (!mapping.readable || mapping.offset != 0 || (!mapping.has_file() && !mapping.is_kernels("[vdso]"))) continue;
    if (mapping.shared || mapping.name.starts_with("/dev/")) continue;
    if (auto module = read_module(memory, mapping)) modules.push_back(std::move(*module));
  }
  return modules;
}

}  // namespace heaptap::elf
