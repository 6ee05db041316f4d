// Deflate compression of a raw stream's frames: zlib is small enough for the target's side, where zstd's compressor
// would take a quarter of the program (decision 116).
#pragma once
#include "capture/stream/raw_stream.h"
#include "common/base/deflate.h"

namespace heaptap::stream {

class DeflatePacker final : public FramePacker {
 public:
  std::span<const uint8_t> pack(std::span<const uint8_t> payload) override { return deflater_.compress(payload); }

 private:
  base::Deflater deflater_;
};

class DeflateUnpacker final : public FrameUnpacker {
 public:
  // Frames were validated: a payload is at most wire::kMaxFrameBytes, and 64 times its stored size.
  bool unpack(std::span<const uint8_t> stored, size_t raw_bytes, std::vector<uint8_t>& payload) override {
    payload.resize(raw_bytes);
    return inflater_.decompress(stored, payload);
  }

 private:
  base::Inflater inflater_;
};

}  // namespace heaptap::stream
