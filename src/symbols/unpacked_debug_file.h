// A separate debug file with compressed sections, as a file in memory where they aren't. libdw inflates all of them when it
// opens a file (the C library's: 40 ms), and a report needs a few units of it; what zstd compressed not every libdw can read. Here .debug_info and .debug_line are inflated
// as far as was asked for, from their beginning; what is behind that reads as zeros. Private to symbols/.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"

namespace heaptap::symbols {

class UnpackedDebugFile {
 public:
  // Null where there is nothing to gain, and where the file isn't as this expects it: then libdw is given the file itself.
  // The descriptor stays the caller's.
  static std::unique_ptr<UnpackedDebugFile> create(int descriptor);
  // Null where libdw can read the file itself: for one that has code, too.
  static std::unique_ptr<UnpackedDebugFile> create_readable(int descriptor);
  ~UnpackedDebugFile();
  UnpackedDebugFile(const UnpackedDebugFile&) = delete;
  UnpackedDebugFile& operator=(const UnpackedDebugFile&) = delete;

  // Of the file in memory; none where there is none to be had.
  [[nodiscard]] base::UniqueFd new_descriptor() const { return descriptor_.duplicate(); }

  [[nodiscard]] std::span<const uint8_t> address_ranges() const;  // .debug_aranges; empty: there are none
  // Inflates the unit of .debug_info with its header at `offset`, and all before it; of .debug_line the same. False: there is
  // none.
  bool need_unit(uint64_t offset);
  bool need_lines(uint64_t offset);
  void need_all();
  // Inflates a little of what nobody needed so far. False: there is no more.
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
  Mapping unpacked_;  // the one in memory, as it is written to
  base::UniqueFd descriptor_;
  std::vector<Section> sections_;  // those of debug information that are wanted
  std::vector<uint8_t> headers_;   // of sections, as the file in memory has them
};

}  // namespace heaptap::symbols
