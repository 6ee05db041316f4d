// Raw deflate (RFC 1951) of independent memory blocks: no header, no checksum, for callers with their own.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

struct z_stream_s;  // NOLINT(readability-identifier-naming): zlib's

namespace heaptap::base {

// Compressor, fast rather than tight. Its 256 KiB are allocated with the first block.
class Deflater {
 public:
  Deflater();
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;
  ~Deflater();

  // Valid until the next call; empty where compression doesn't make it smaller, or there is no memory for it.
  std::span<const uint8_t> compress(std::span<const uint8_t> piece);

 private:
  std::unique_ptr<z_stream_s> stream_;  // null: not needed so far, or the last allocation failed
  std::vector<uint8_t> output_;
};

class Inflater {
 public:
  Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater();

  // Fills all of `piece`. False: damaged data, another size, or no memory.
  bool decompress(std::span<const uint8_t> compressed, std::span<uint8_t> piece);

 private:
  std::unique_ptr<z_stream_s> stream_;  // null: no memory
};

}  // namespace heaptap::base
