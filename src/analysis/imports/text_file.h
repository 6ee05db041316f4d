// Lines of another tool's file, plain or compressed with gzip or zstd (detected by content, not by name). Memory use is bounded,
// whatever the file claims.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace heaptap::imports {

class TextFile {
 public:
  // Opens a regular file. Success only means that its beginning is readable text.
  static base::Result<TextFile> open(const std::string& path);
  TextFile(TextFile&&) noexcept;
  TextFile& operator=(TextFile&&) noexcept;
  ~TextFile();

  // Next line without its newline; valid until the next call. None after the last complete line.
  std::optional<std::string_view> next();

  // Kind of end of the file. Valid after next() has returned none.
  enum class Ending {
    kWhole,
    kCut,         // within a line or within compressed data
    kDamaged,     // invalid compressed data
    kLongLine,    // longer than any line of such a file
    kUnreadable,  // read error of the system
  };
  [[nodiscard]] Ending ending() const;
  [[nodiscard]] uint64_t line_number() const;  // of the last line returned, from 1
  [[nodiscard]] uint64_t read_bytes() const;   // of the file
  [[nodiscard]] uint64_t file_bytes() const;

 private:
  class Impl;
  explicit TextFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace heaptap::imports
