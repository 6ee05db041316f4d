#include "analysis/symbols/elf_file.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "analysis/symbols/section_inflater.h"
#include "common/base/crc32.h"
#include "common/base/served_files.h"

namespace heaptap::symbols {
namespace {

bool has_program(Elf* elf) {
  GElf_Ehdr header;
  if (elf_kind(elf) != ELF_K_ELF || gelf_getehdr(elf, &header) == nullptr) return false;
  return header.e_type == ET_EXEC || header.e_type == ET_DYN;
}

// A server may have the file, but no data about it.
base::UniqueFd open_and_try(const std::string& path) {
  // So that a FIFO doesn't block.
  base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  char first = 0;
  return pread(file.get(), &first, sizeof(first), 0) == sizeof(first) ? std::move(file) : base::UniqueFd();
}

}  // namespace

std::optional<ElfFile> ElfFile::open(const std::string& path) {
  auto file =
      base::ServedFiles::of_process().look<base::UniqueFd>({.path = path}, [path] { return open_and_try(path); });
  return file ? adopt(*std::move(file), path) : std::nullopt;
}

std::optional<ElfFile> ElfFile::adopt(base::UniqueFd descriptor, std::string path) {
  elf_version(EV_CURRENT);
  ElfFile file;
  file.path_ = std::move(path);
  file.descriptor_ = std::move(descriptor);
  struct stat status{};
  if (!file.descriptor_ || fstat(file.descriptor(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  file.elf_.reset(elf_begin(file.descriptor(), ELF_C_READ_MMAP, nullptr));
  if (file.elf_ == nullptr || !has_program(file.elf())) return std::nullopt;
  return file;
}

base::UniqueFd ElfFile::release_descriptor() {
  elf_.reset();
  return std::move(descriptor_);
}

std::string ElfFile::build_id() const {
  const void* bits = nullptr;
  const ssize_t size = dwelf_elf_gnu_build_id(elf(), &bits);
  return size > 0 ? std::string(static_cast<const char*>(bits), static_cast<size_t>(size)) : std::string();
}

bool ElfFile::has_section(const char* name) const {
  size_t names = 0;
  if (elf_getshdrstrndx(elf(), &names) != 0) return false;
  for (Elf_Scn* section = elf_nextscn(elf(), nullptr); section != nullptr; section = elf_nextscn(elf(), section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* text = elf_strptr(elf(), names, header.sh_name);
    if (text != nullptr && std::strcmp(text, name) == 0) return true;
  }
  return false;
}

bool ElfFile::has_zstd() const {
  for (Elf_Scn* section = elf_nextscn(elf(), nullptr); section != nullptr; section = elf_nextscn(elf(), section)) {
    GElf_Shdr header;
    GElf_Chdr compression;
    if (gelf_getshdr(section, &header) == nullptr || (header.sh_flags & SHF_COMPRESSED) == 0) continue;
    if (gelf_getchdr(section, &compression) != nullptr && compression.ch_type == SectionInflater::kZstd) return true;
  }
  return false;
}

uint32_t ElfFile::crc() const {
  base::Crc32 crc;
  std::vector<uint8_t> buffer(1 << 18);
  off_t position = 0;
  ssize_t count = 0;
  while ((count = pread(descriptor(), buffer.data(), buffer.size(), position)) > 0) {
    crc.add(std::span(buffer).first(static_cast<size_t>(count)));
    position += count;
  }
  return crc.value();
}

std::optional<DebugLink> debug_link_of(Elf* elf) {
  GElf_Word crc = 0;
  const char* name = dwelf_elf_gnu_debuglink(elf, &crc);
  if (name == nullptr || *name == '\0') return std::nullopt;
  return DebugLink{.name = name, .crc = crc};
}

}  // namespace heaptap::symbols
