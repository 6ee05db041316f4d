// Open ELF file and its identity: build-id and CRC. Private to symbols/.
#pragma once
#include <libelf.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/base/unique_fd.h"

namespace heaptap::symbols {

// Owner of a descriptor and libelf's handle on it.
class ElfFile {
 public:
  // None if `path` is not a regular file or not an ELF executable, shared object or debug file.
  static std::optional<ElfFile> open(const std::string& path);
  // Same for an open file; `path` becomes its name.
  static std::optional<ElfFile> adopt(base::UniqueFd descriptor, std::string path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Elf* elf() const { return elf_.get(); }
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  [[nodiscard]] std::string build_id() const;  // bytes; empty: none
  [[nodiscard]] bool has_section(const char* name) const;
  [[nodiscard]] bool has_zstd() const;  // zstd-compressed sections, which not every libelf reads
  [[nodiscard]] uint32_t crc() const;   // of the whole file, as in .gnu_debuglink
  base::UniqueFd release_descriptor();  // invalidates elf()

 private:
  struct ElfEnd {
    void operator()(Elf* elf) const { elf_end(elf); }
  };

  ElfFile() = default;

  std::string path_;
  base::UniqueFd descriptor_;
  std::unique_ptr<Elf, ElfEnd> elf_;  // uses the descriptor: ends first
};

struct DebugLink {
  std::string name;
  uint32_t crc = 0;
};
std::optional<DebugLink> debug_link_of(Elf* elf);

}  // namespace heaptap::symbols
