// Reads single frames of a trace file: checked and decompressed. Each reader has its own buffers; several may share a file.
#pragma once
#include <cstdint>
#include <vector>

#include "trace/compression.h"
#include "wire/frame.h"
#include "wire/varint.h"

namespace heaptap::trace {

struct Frame {
  wire::FrameHead head;
  wire::VarintReader payload;  // decompressed; valid until its reader reads the next one
};

// Reads `bytes` at `offset`; fewer only at the file's end or on an error.
size_t read_at(int descriptor, uint64_t offset, uint8_t* to, size_t bytes);

class FrameReader {
 public:
  // The descriptor stays the caller's.
  FrameReader(int descriptor, uint64_t file_bytes) : descriptor_(descriptor), file_bytes_(file_bytes) {}

  // The file has grown.
  void grow(uint64_t file_bytes) { file_bytes_ = file_bytes; }

  // False: there is no whole, undamaged frame.
  bool read(uint64_t offset, Frame& frame);
  // A frame's head alone, which nothing was checked of but that the frame lies within the file.
  bool read_head(uint64_t offset, wire::FrameHead& head);
  // The first whole, undamaged frame that begins at `from` or behind it and has this number or a greater one.
  bool find(uint64_t from, uint32_t least_number, uint64_t& offset);
  // Of a frame that couldn't be read: the file ends within it.
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
  uint64_t searched_bytes_ = 0;  // of frames that were looked at in vain
  std::vector<uint8_t> stored_, raw_;
  Decompressor decompressor_;
};

}  // namespace heaptap::trace
