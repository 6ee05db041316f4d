// Lines from a descriptor, of bounded length: a client that sends more isn't kept in memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace heaptap::mcp {

class LineReader {
 public:
  enum class Found : uint8_t {
    kLine,
    kTooLong,  // it was skipped
    kEnd,      // of the stream, or it can't be read
  };

  // The descriptor must outlive this.
  LineReader(int file_descriptor, size_t max_bytes) : file_descriptor_(file_descriptor), max_bytes_(max_bytes) {}

  // Waits for the next line. A last one without an end is one.
  Found next();
  // Of kLine: without its end.
  [[nodiscard]] const std::string& line() const { return line_; }

 private:
  // Whether there are bytes at begin_.
  bool fill();

  const int file_descriptor_;
  const size_t max_bytes_;
  std::string line_;
  std::string buffer_;
  size_t begin_ = 0;  // in the buffer, of what wasn't taken
};

}  // namespace heaptap::mcp
