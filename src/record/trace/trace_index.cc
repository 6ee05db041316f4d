#include "record/trace/trace_index.h"

#include <unistd.h>

#include <cstring>

#include "common/wire/varint.h"
#include "record/trace/compression.h"
#include "record/trace/frame_reader.h"

namespace heaptap::trace {
namespace {

bool read_exactly(int descriptor, uint64_t offset, uint8_t* to, size_t bytes) {
  return pread(descriptor, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

// The offset in the trailer; 0: no trailer.
uint64_t index_offset(int descriptor, uint64_t bytes) {
  uint8_t trailer[wire::kTrailerBytes];
  if (bytes < wire::kFileHeadBytes + sizeof(trailer) ||
      !read_exactly(descriptor, bytes - sizeof(trailer), trailer, sizeof(trailer)) ||
      std::memcmp(trailer + 8, wire::kTrailerMagic, 8) != 0) {
    return 0;
  }
  const uint64_t offset = wire::get_u64(trailer);
  return offset < bytes ? offset : 0;
}

bool read_index_frame(int descriptor, uint64_t bytes, std::vector<FramePlace>& frames) {
  const uint64_t offset = index_offset(descriptor, bytes);
  uint8_t head_bytes[wire::kFrameHeadBytes];
  wire::FrameHead head;
  if (offset == 0 || !read_exactly(descriptor, offset, head_bytes, sizeof(head_bytes)) ||
      !wire::read_frame_head(head_bytes, head) || head.type != wire::FrameType::kIndex ||
      offset + sizeof(head_bytes) + head.stored_bytes > bytes) {
    return false;
  }
  std::vector<uint8_t> stored(head.stored_bytes);
  if (!read_exactly(descriptor, offset + sizeof(head_bytes), stored.data(), stored.size()) ||
      !wire::checksum_matches(head_bytes, head, stored.data())) {
    return false;
  }
  if (head.codec == wire::Codec::kNone) return read_index_payload(stored.data(), stored.size(), frames);
  Decompressor decompressor;
  std::vector<uint8_t> raw;
  return head.codec == wire::Codec::kZstd &&
         decompressor.decompress(stored.data(), stored.size(), head.raw_bytes, raw) &&
         read_index_payload(raw.data(), raw.size(), frames);
}

std::vector<FramePlace> scan(int descriptor, uint64_t bytes) {
  std::vector<FramePlace> frames;
  FrameReader reader(descriptor, bytes);
  wire::FrameHead head;
  uint32_t number = 0;
  for (uint64_t offset = wire::kFileHeadBytes; offset + wire::kFrameHeadBytes <= bytes;
       offset += wire::kFrameHeadBytes + head.stored_bytes) {
    const bool is_next = reader.read_head(offset, head) && head.number == number;
    if (!is_next && (!reader.find(offset, number, offset) || !reader.read_head(offset, head))) break;
    number = head.number + 1;
    if (head.type == wire::FrameType::kIndex) break;
    frames.push_back({head.type, offset, 0});
  }
  return frames;
}

}  // namespace

bool read_index_payload(const uint8_t* payload, size_t bytes, std::vector<FramePlace>& frames) {
  wire::VarintReader in(payload, bytes);
  const uint64_t count = in.varint();
  if (!in.ok() || count > in.left()) return false;
  FramePlace place;
  for (uint64_t i = 0; i < count; ++i) {
    place.type = static_cast<wire::FrameType>(in.varint());
    const uint64_t distance = in.varint();
    // Frames don't overlap: an index can't make a reader take one frame any number of times.
    if (distance < (i == 0 ? wire::kFileHeadBytes : wire::kFrameHeadBytes)) return false;
    place.offset += distance;
    place.first_event += in.varint();
    frames.push_back(place);
  }
  return in.ok();
}

TraceIndex read_trace_index(int descriptor, uint64_t bytes) {
  TraceIndex index;
  if (read_index_frame(descriptor, bytes, index.frames)) return index;
  index.rebuilt = true;
  index.frames = scan(descriptor, bytes);
  return index;
}

}  // namespace heaptap::trace
