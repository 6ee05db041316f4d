// Deflate (RFC 1951) for pieces of memory that each stand alone: no head, no checksum, for who has his own.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

struct z_stream_s;  // NOLINT(readability-identifier-naming): zlib's

namespace heaptap::base {

// Fast rather than tight. Its 256 KiB are taken at the first piece.
class Deflater {
 public:
  Deflater();
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;
  ~Deflater();

  // Valid until the next call; empty where compressing doesn't make them fewer, or there is no memory for it.
  std::span<const uint8_t> compress(std::span<const uint8_t> piece);

 private:
  std::unique_ptr<z_stream_s> stream_;  // null: not needed so far, or no memory for it the last time
  std::vector<uint8_t> output_;
};

class Inflater {
 public:
  Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater();

  // Fills all of `piece`. False: the bytes are damaged, or of a piece of another size, or there is no memory for it.
  bool decompress(std::span<const uint8_t> compressed, std::span<uint8_t> piece);

 private:
  std::unique_ptr<z_stream_s> stream_;  // null: there was no memory for it
};

}  // namespace heaptap::base
