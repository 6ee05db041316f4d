// The lines of another tool's file, which may be compressed by gzip or zstd: found by its content, not by its name. Memory
// doesn't grow with the file, whatever it says of itself.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace heaptap::imports {

class TextFile {
 public:
  // Of a regular file. Its beginning is known to be readable text when this succeeds, nothing more.
  static base::Result<TextFile> open(const std::string& path);
  TextFile(TextFile&&) noexcept;
  TextFile& operator=(TextFile&&) noexcept;
  ~TextFile();

  // The next line without its end; valid until the next call. None behind the last one that is whole.
  std::optional<std::string_view> next();

  // How the file ends; after next() had no more.
  enum class Ending {
    kWhole,
    kCut,         // within a line, or within what is compressed
    kDamaged,     // what is compressed isn't what a compressor writes
    kLongLine,    // longer than any line of such a file
    kUnreadable,  // the system failed to read it
  };
  [[nodiscard]] Ending ending() const;
  [[nodiscard]] uint64_t line_number() const;  // of the last line that came, from 1 on
  [[nodiscard]] uint64_t read_bytes() const;   // of the file
  [[nodiscard]] uint64_t file_bytes() const;

 private:
  class Impl;
  explicit TextFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace heaptap::imports
