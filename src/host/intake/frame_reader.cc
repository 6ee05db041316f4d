#include "host/intake/frame_reader.h"

#include <unistd.h>

#include <cerrno>

namespace heaptap::intake {

size_t read_at(int descriptor, uint64_t offset, uint8_t* to, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t result = pread(descriptor, to + done, bytes - done, static_cast<off_t>(offset + done));
    if (result < 0 && errno == EINTR) continue;
    if (result <= 0) break;
    done += static_cast<size_t>(result);
  }
  return done;
}

bool FrameReader::read(uint64_t offset, Frame& frame) {
  uint8_t head[wire::kFrameHeadBytes];
  frame_end_ = offset + sizeof(head);
  if (read_at(descriptor_, offset, head, sizeof(head)) != sizeof(head) || !wire::read_frame_head(head, frame.head)) {
    return false;
  }
  frame_end_ += frame.head.stored_bytes;
  if (frame_end_ > file_bytes_) return false;
  stored_.resize(frame.head.stored_bytes);
  if (read_at(descriptor_, offset + sizeof(head), stored_.data(), stored_.size()) != stored_.size()) return false;
  if (!wire::checksum_matches(head, frame.head, stored_.data())) return false;
  if (frame.head.codec == wire::Codec::kNone) {
    frame.payload = wire::VarintReader(stored_.data(), stored_.size());
    return true;
  }
  if (frame.head.codec != wire::Codec::kZstd ||
      !decompressor_.decompress(stored_.data(), stored_.size(), frame.head.raw_bytes, raw_)) {
    return false;
  }
  frame.payload = wire::VarintReader(raw_.data(), raw_.size());
  return true;
}

}  // namespace heaptap::intake
