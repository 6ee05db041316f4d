// zstd compression of frames and columns, with reusable contexts.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

namespace heaptap::trace {

class Compressor {
 public:
  explicit Compressor(int level);
  ~Compressor();
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  // The compressed bytes, valid until the next call; empty where compression doesn't make it smaller.
  const std::vector<uint8_t>& compress(const uint8_t* data, size_t bytes);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
  std::vector<uint8_t> output_;
};

class Decompressor {
 public:
  Decompressor();
  ~Decompressor();
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  // Fills `output` with exactly `raw_bytes`. False: damaged, or another size.
  bool decompress(const uint8_t* data, size_t bytes, size_t raw_bytes, std::vector<uint8_t>& output);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace heaptap::trace
