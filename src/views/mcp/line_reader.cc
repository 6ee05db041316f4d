#include "views/mcp/line_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace heaptap::mcp {

bool LineReader::fill() {
  if (begin_ < buffer_.size()) return true;
  constexpr size_t kPieceBytes = size_t{64} << 10;
  buffer_.resize(kPieceBytes);
  begin_ = 0;
  ssize_t count = 0;
  do {
    count = read(file_descriptor_, buffer_.data(), buffer_.size());
  } while (count < 0 && errno == EINTR);
  buffer_.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return !buffer_.empty();
}

LineReader::Found LineReader::next() {
  line_.clear();
  bool is_too_long = false;
  bool has_bytes = false;
  while (fill()) {
    has_bytes = true;
    const size_t end = std::min(buffer_.find('\n', begin_), buffer_.size());
    is_too_long = is_too_long || end - begin_ > max_bytes_ - line_.size();
    if (!is_too_long) line_.append(buffer_, begin_, end - begin_);
    const bool is_whole = end != buffer_.size();
    begin_ = is_whole ? end + 1 : end;
    if (is_whole) return is_too_long ? Found::kTooLong : Found::kLine;
  }
  if (!has_bytes) return Found::kEnd;
  return is_too_long ? Found::kTooLong : Found::kLine;
}

}  // namespace heaptap::mcp
