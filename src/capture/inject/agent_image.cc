#include "capture/inject/agent_image.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include "capture/elf/elf_headers.h"
#include "common/base/pages.h"
#include "common/base/sizes.h"
#include "common/base/unique_fd.h"

namespace heaptap::inject {
namespace {

constexpr size_t kMaxBytes = size_t{16} << 20;

template <typename Value>
std::optional<Value> value_at(std::span<const uint8_t> bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(Value)) return std::nullopt;
  Value value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

}  // namespace

base::Result<AgentImage> AgentImage::read(const std::string& path) {
  const base::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0) return base::fail("can't read {}: {}", path, base::reason_of(errno));
  std::vector<uint8_t> bytes(std::min(static_cast<size_t>(status.st_size), kMaxBytes));
  bytes.resize(elf::FileBytes(file.get()).read_some(0, bytes.data(), bytes.size()));
  auto image = create(bytes);
  if (!image) return base::fail("{}: {}; reinstall heaptap", path, image.error().message);
  return image;
}

base::Result<AgentImage> AgentImage::create(std::span<const uint8_t> file) {
  AgentImage image;
  HEAPTAP_TRY(image.read_segments(file));
  HEAPTAP_TRY(image.read_dynamic_section());
  const auto contract = value_at<wire::InjectedAgent>(image.content_, image.contract_offset_);
  const bool is_ours = image.contract_offset_ != 0 && contract && contract->magic == wire::kInjectedAgentMagic &&
                       contract->bytes == sizeof(wire::InjectedAgent);
  if (!is_ours) return base::fail("it isn't the injected agent of this version");
  return image;
}

base::Result<> AgentImage::read_segments(std::span<const uint8_t> file) {
  const auto header = value_at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_machine != EM_X86_64)
    return base::fail("it isn't an ELF file for this CPU");
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    const auto segment = value_at<Elf64_Phdr>(file, header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return base::fail("it is cut off");
    if (segment->p_type == PT_TLS) return base::fail("it has thread-local storage");
    if (segment->p_type == PT_DYNAMIC) {
      dynamic_offset_ = base::at_most(kMaxBytes, segment->p_vaddr);
      dynamic_bytes_ = base::at_most(kMaxBytes, segment->p_memsz);
    }
    if (segment->p_type != PT_LOAD) continue;
    const uint64_t end = segment->p_vaddr + segment->p_memsz;
    if (end > kMaxBytes || segment->p_vaddr > kMaxBytes || segment->p_filesz > segment->p_memsz ||
        segment->p_offset > file.size() || segment->p_filesz > file.size() - segment->p_offset) {
      return base::fail("it is cut off");
    }
    const bool is_data = (segment->p_flags & PF_W) != 0;
    if (is_data && (segment->p_flags & PF_X) != 0) return base::fail("it has code that can be written");
    if (is_data && data_offset_ == 0) data_offset_ = base::size_of_known(base::page_begin(segment->p_vaddr));
    if (!is_data && data_offset_ != 0) return base::fail("its data doesn't come last");
    bytes_ = std::max(bytes_, base::size_of_known(base::whole_pages(end)));
    content_.resize(std::max(content_.size(), static_cast<size_t>(segment->p_vaddr + segment->p_filesz)));
    std::ranges::copy(file.subspan(base::size_of_known(segment->p_offset), base::size_of_known(segment->p_filesz)),
                      content_.begin() + static_cast<ptrdiff_t>(segment->p_vaddr));
  }
  if (data_offset_ == 0) return base::fail("it has no data");
  return {};
}

base::Result<> AgentImage::read_dynamic_section() {
  uint64_t relocations = 0;
  uint64_t relocations_bytes = 0;
  uint64_t symbols = 0;
  uint64_t hash = 0;
  uint64_t strings = 0;
  for (size_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic_bytes_; at += sizeof(Elf64_Dyn)) {
    const auto entry = value_at<Elf64_Dyn>(content_, dynamic_offset_ + at);
    if (!entry) return base::fail("it is cut off");
    const uint64_t value = entry->d_un.d_val;
    if (entry->d_tag == DT_NEEDED) return base::fail("it needs a library");
    if (entry->d_tag == DT_INIT || entry->d_tag == DT_INIT_ARRAY || entry->d_tag == DT_JMPREL ||
        entry->d_tag == DT_RELR)
      return base::fail("it needs a loader");
    if (entry->d_tag == DT_RELA) relocations = value;
    if (entry->d_tag == DT_RELASZ) relocations_bytes = value;
    if (entry->d_tag == DT_SYMTAB) symbols = value;
    if (entry->d_tag == DT_HASH) hash = value;
    if (entry->d_tag == DT_STRTAB) strings = value;
  }
  for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= relocations_bytes; at += sizeof(Elf64_Rela)) {
    const auto relocation = value_at<Elf64_Rela>(content_, relocations + at);
    if (!relocation || ELF64_R_TYPE(relocation->r_info) != R_X86_64_RELATIVE ||
        relocation->r_offset > content_.size() - sizeof(uint64_t) || relocation->r_offset < data_offset_) {
      return base::fail("it needs relocations other than those of its own addresses");
    }
    relocations_.push_back({relocation->r_offset, static_cast<uint64_t>(relocation->r_addend)});
  }
  const auto count = value_at<uint32_t>(content_, hash + sizeof(uint32_t));  // nchain
  for (uint32_t i = 1; count && i < *count; ++i) {
    const auto symbol = value_at<Elf64_Sym>(content_, symbols + uint64_t{i} * sizeof(Elf64_Sym));
    if (!symbol) return base::fail("it is cut off");
    if (symbol->st_shndx == SHN_UNDEF) return base::fail("it needs a symbol");
    const uint64_t name = strings + symbol->st_name;
    constexpr std::string_view kWanted(wire::kInjectedAgentSymbol);
    const bool is_long = name < content_.size() && content_.size() - name > kWanted.size();
    if (is_long && std::memcmp(content_.data() + name, kWanted.data(), kWanted.size() + 1) == 0)
      contract_offset_ = base::at_most(kMaxBytes, symbol->st_value);
  }
  return {};
}

std::vector<uint8_t> AgentImage::placed_at(uint64_t address) const {
  std::vector<uint8_t> placed = content_;
  for (const Relocation& relocation : relocations_) {
    const uint64_t value = address + relocation.addend;
    std::memcpy(placed.data() + relocation.offset, &value, sizeof(value));
  }
  return placed;
}

}  // namespace heaptap::inject
