// Reader of single frames of a trace file: verified and decompressed. Each reader has its own buffers; several may share a file.
#pragma once
#include <cstdint>
#include <vector>

#include "common/wire/frame.h"
#include "common/wire/varint.h"
#include "record/trace/compression.h"

namespace heaptap::trace {

struct Frame {
  wire::FrameHead head;
  wire::VarintReader payload;  // decompressed; valid until the reader's next read
};

// Reads `bytes` at `offset`; fewer only at the file's end or on an error.
size_t read_at(int descriptor, uint64_t offset, uint8_t* to, size_t bytes);

class FrameReader {
 public:
  // The descriptor stays the caller's.
  FrameReader(int descriptor, uint64_t file_bytes) : descriptor_(descriptor), file_bytes_(file_bytes) {}

  // The file has grown.
  void grow(uint64_t file_bytes) { file_bytes_ = file_bytes; }

  // False: no complete, undamaged frame there.
  bool read(uint64_t offset, Frame& frame);
  // Reads only a frame's head; checks only that the frame lies within the file.
  bool read_head(uint64_t offset, wire::FrameHead& head);
  // Finds the first complete, undamaged frame at or after `from` with this number or a greater one.
  bool find(uint64_t from, uint32_t least_number, uint64_t& offset);
  // Whether the file ends within the frame that couldn't be read.
  [[nodiscard]] bool is_cut_off() const { return frame_end_ > file_bytes_; }

 private:
  struct Numbers {
    uint64_t least, most;
  };
  enum class Look { kNone, kFound, kTooMuch };
  Look look_at(uint64_t offset, Numbers wanted);

  int descriptor_;
  uint64_t file_bytes_;
  uint64_t frame_end_ = 0;
  uint64_t searched_bytes_ = 0;  // of frames without success
  std::vector<uint8_t> stored_, raw_;
  Decompressor decompressor_;
};

}  // namespace heaptap::trace
