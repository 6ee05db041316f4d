#include "record/trace/frame_reader.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace heaptap::trace {

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

bool FrameReader::read_head(uint64_t offset, wire::FrameHead& head) {
  uint8_t bytes[wire::kFrameHeadBytes];
  return read_at(descriptor_, offset, bytes, sizeof(bytes)) == sizeof(bytes) && wire::read_frame_head(bytes, head) &&
         head.stored_bytes <= file_bytes_ - std::min(file_bytes_, offset + sizeof(bytes));
}

// Whether a frame begins here, whose sync word was found.
FrameReader::Look FrameReader::look_at(uint64_t offset, Numbers wanted) {
  constexpr uint64_t kMaxSearches = 4;  // for the whole file: it may have been made to have many heads
  Frame frame;
  if (!read_head(offset, frame.head) || frame.head.number < wanted.least || frame.head.number > wanted.most) {
    return Look::kNone;
  }
  if (read(offset, frame)) return Look::kFound;
  searched_bytes_ += frame.head.stored_bytes;
  return searched_bytes_ > kMaxSearches * file_bytes_ ? Look::kTooMuch : Look::kNone;
}

bool FrameReader::find(uint64_t from, uint32_t least_number, uint64_t& offset) {
  constexpr size_t kPieceBytes = 1u << 16;
  constexpr std::array<uint8_t, 4> kSync = {'H', 'T', 'F', 'R'};
  std::vector<uint8_t> piece(kPieceBytes);
  const Numbers wanted{least_number, least_number + file_bytes_ / wire::kFrameHeadBytes};
  while (from + wire::kFrameHeadBytes <= file_bytes_) {
    const size_t got = read_at(descriptor_, from, piece.data(), piece.size());
    const auto end = piece.begin() + static_cast<std::ptrdiff_t>(got);
    auto found = std::search(piece.begin(), end, kSync.begin(), kSync.end());
    while (found != end) {
      offset = from + static_cast<uint64_t>(found - piece.begin());
      const Look look = look_at(offset, wanted);
      if (look != Look::kNone) return look == Look::kFound;
      found = std::search(found + kSync.size(), end, kSync.begin(), kSync.end());
    }
    if (got < piece.size()) return false;
    from += got - (kSync.size() - 1);
  }
  return false;
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
  // More than highly repetitive data becomes: a frame made to fill the memory.
  constexpr uint64_t kUsualRawBytes = 32u << 20;
  constexpr uint64_t kRawBytesAByte = 1024;
  if (frame.head.raw_bytes > kUsualRawBytes + kRawBytesAByte * frame.head.stored_bytes) return false;
  if (frame.head.codec != wire::Codec::kZstd ||
      !decompressor_.decompress(stored_.data(), stored_.size(), frame.head.raw_bytes, raw_)) {
    return false;
  }
  frame.payload = wire::VarintReader(raw_.data(), raw_.size());
  return true;
}

}  // namespace heaptap::trace
