#include "analysis/symbols/frame_bytes.h"

#include <gelf.h>

#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "analysis/symbols/file_search.h"

namespace heaptap::symbols {
namespace {

constexpr uint64_t kMaxSectionBytes = uint64_t{256} << 20;

bool is_of_this_order(const GElf_Ehdr& header) {
  return header.e_ident[EI_DATA] == (std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB);
}

// Decompressed if necessary. Empty: none.
std::string content_of(Elf_Scn* section, GElf_Shdr& header) {
  if (header.sh_type == SHT_NOBITS || header.sh_size > kMaxSectionBytes) return {};
  if ((header.sh_flags & SHF_COMPRESSED) != 0) {
    GElf_Chdr packed;
    if (gelf_getchdr(section, &packed) == nullptr || packed.ch_size > kMaxSectionBytes) return {};
    if (elf_compress(section, 0, 0) < 0 || gelf_getshdr(section, &header) == nullptr) return {};
  }
  const Elf_Data* const data = elf_rawdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return {};
  return {static_cast<const char*>(data->d_buf), data->d_size};
}

void take_sections(const ElfFile& file, FrameBytes& frames) {
  Elf* const elf = file.elf();
  GElf_Ehdr file_header;
  size_t names = 0;
  if (gelf_getehdr(elf, &file_header) == nullptr || elf_getshdrstrndx(elf, &names) != 0) return;
  const bool is_swapped = !is_of_this_order(file_header);
  if (frames.machine != EM_NONE && (frames.machine != file_header.e_machine || frames.is_swapped != is_swapped)) return;
  frames.machine = file_header.e_machine;
  frames.is_swapped = is_swapped;
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr; section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* const text = elf_strptr(elf, names, header.sh_name);
    const std::string_view name = text != nullptr ? text : "";
    if (name == ".debug_frame" && frames.debug_frame.empty()) frames.debug_frame = content_of(section, header);
    if (name == ".eh_frame" && frames.eh_frame.empty()) {
      frames.eh_frame_address = header.sh_addr;
      frames.eh_frame = content_of(section, header);
    }
  }
}

std::optional<FrameBytes> find_in(FileSearch& search, const std::string& path, const std::string& build_id) {
  FrameBytes frames;
  const FoundModule found = search.find_module(path, build_id);
  if (!found.file) return std::nullopt;
  take_sections(*found.file, frames);
  if (frames.debug_frame.empty()) {
    const auto debug = search.find_debug_file({.path = found.file->path(),
                                               .recorded_path = path,
                                               .build_id = found.file->build_id(),
                                               .link = debug_link_of(found.file->elf())});
    if (debug) take_sections(*debug, frames);
  }
  if (frames.machine == EM_NONE) return std::nullopt;
  return frames;
}

}  // namespace

std::optional<FrameBytes> find_frame_bytes(const ResolverOptions& options, const std::string& path,
                                           const std::string& build_id) {
  FileSearch search(options);
  return find_in(search, path, build_id);
}

std::optional<FrameBytes> find_frame_bytes(FileProvider& provider, const std::string& build_id) {
  FileSearch search(provider);
  return find_in(search, "", build_id);
}

}  // namespace heaptap::symbols
