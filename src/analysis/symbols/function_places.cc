#include "analysis/symbols/function_places.h"

#include <gelf.h>

#include <string_view>
#include <unordered_set>

#include "analysis/symbols/file_search.h"

namespace heaptap::symbols {
namespace {

using Names = std::unordered_set<std::string_view>;

bool is_function(const GElf_Sym& symbol) {
  return GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS;
}

void take_functions(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, const Names& names,
                    std::vector<model::ToldFunction>& found) {
  Elf_Data* const data = elf_getdata(section, nullptr);
  const uint64_t count = data != nullptr && header.sh_entsize != 0 ? header.sh_size / header.sh_entsize : 0;
  GElf_Sym symbol;
  for (uint64_t i = 0; i < count && gelf_getsym(data, static_cast<int>(i), &symbol) != nullptr; ++i) {
    if (!is_function(symbol)) continue;
    const char* const name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name == nullptr || !names.contains(name)) continue;
    found.push_back({.name = name, .address = symbol.st_value, .is_local = GELF_ST_BIND(symbol.st_info) == STB_LOCAL});
  }
}

// False: the file has no table of all symbols.
bool take_functions(const ElfFile& file, const Names& names, std::vector<model::ToldFunction>& found) {
  Elf* const elf = file.elf();
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr; section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_SYMTAB || header.sh_size == 0) continue;
    take_functions(elf, section, header, names, found);
    return true;
  }
  return false;
}

}  // namespace

std::vector<model::ToldFunction> find_functions(const ResolverOptions& options, const std::string& path,
                                                const std::string& build_id, const std::vector<std::string>& names) {
  std::vector<model::ToldFunction> found;
  FileSearch search(options);
  const FoundModule module = search.find_module(path, build_id);
  const Names wanted(names.begin(), names.end());
  if (module.file && take_functions(*module.file, wanted, found)) return found;
  const auto debug = search.find_debug_file({.path = module.file ? module.file->path() : path,
                                             .recorded_path = path,
                                             .build_id = build_id,
                                             .link = module.file ? debug_link_of(module.file->elf()) : std::nullopt});
  if (debug) take_functions(*debug, wanted, found);
  return found;
}

}  // namespace heaptap::symbols
