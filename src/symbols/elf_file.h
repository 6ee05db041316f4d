// An ELF file that is open for reading: what tells whether it is the one that a trace means. Private to symbols/.
#pragma once
#include <libelf.h>

#include <cstdint>
#include <optional>
#include <string>

namespace heaptap::symbols {

// Owns a descriptor and libelf's handle on it.
class ElfFile {
 public:
  // Nothing where `path` is not a regular file or not an ELF executable, shared object or debug file.
  static std::optional<ElfFile> open(const std::string& path);
  ElfFile(ElfFile&& other) noexcept;
  ElfFile& operator=(ElfFile&& other) noexcept;
  ~ElfFile();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Elf* elf() const { return elf_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] std::string build_id() const;  // bytes; empty where it has none
  [[nodiscard]] bool has_section(const char* name) const;
  [[nodiscard]] uint32_t crc() const;  // of the whole file, as .gnu_debuglink has it
  int release_descriptor();            // the caller closes it; elf() is gone then

 private:
  ElfFile() = default;
  void close();

  std::string path_;
  int descriptor_ = -1;
  Elf* elf_ = nullptr;
};

struct DebugLink {
  std::string name;
  uint32_t crc = 0;
};
std::optional<DebugLink> debug_link_of(Elf* elf);

}  // namespace heaptap::symbols
