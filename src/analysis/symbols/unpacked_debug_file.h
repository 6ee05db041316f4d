// Debug file with compressed sections, as an in-memory file with uncompressed ones. libdw inflates all sections when it opens a file
// (the C library's: 40 ms), while a report needs a few units; and not every libdw reads zstd. Here .debug_info and .debug_line are
// inflated from their start as far as requested; what follows reads as zeros. Private to symbols/.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/unique_fd.h"

namespace heaptap::symbols {

class UnpackedDebugFile {
 public:
  // Null if it saves nothing or the file isn't as expected: then libdw is to open the file itself. The caller keeps ownership of the
  // descriptor.
  static std::unique_ptr<UnpackedDebugFile> create(int descriptor);
  // Null if libdw can read the file itself; also for files with code.
  static std::unique_ptr<UnpackedDebugFile> create_readable(int descriptor);
  ~UnpackedDebugFile();
  UnpackedDebugFile(const UnpackedDebugFile&) = delete;
  UnpackedDebugFile& operator=(const UnpackedDebugFile&) = delete;

  // Descriptor of the in-memory file; invalid if there is none.
  [[nodiscard]] base::UniqueFd new_descriptor() const { return descriptor_.duplicate(); }

  [[nodiscard]] std::span<const uint8_t> address_ranges() const;  // .debug_aranges; empty: none
  // Inflates the unit of .debug_info with its header at `offset`, and everything before it; .debug_line likewise. False: no such unit.
  bool need_unit(uint64_t offset);
  bool need_lines(uint64_t offset);
  void need_all();
  // Inflates a little more ahead of need. False: all is inflated.
  bool unpack_more();

 private:
  struct Section;
  struct Mapping {
    uint8_t* begin = nullptr;
    uint64_t bytes = 0;
  };

  UnpackedDebugFile();
  static std::unique_ptr<UnpackedDebugFile> list(int descriptor);
  [[nodiscard]] bool has_zstd() const;
  bool map_packed(int descriptor);
  bool read_headers();
  bool list_sections();
  bool make_file();
  bool copy(uint64_t offset, uint64_t bytes);
  static bool has(const Section& section, uint64_t end);
  bool need(const Section* section, uint64_t offset);
  Section* find(std::string_view name);

  Mapping packed_;    // the file on disk
  Mapping unpacked_;  // the in-memory file, writable
  base::UniqueFd descriptor_;
  std::vector<Section> sections_;  // the wanted debug sections
  std::vector<uint8_t> headers_;   // of sections, as in the in-memory file
};

}  // namespace heaptap::symbols
