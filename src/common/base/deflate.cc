#include "common/base/deflate.h"

#include <zlib.h>

namespace heaptap::base {
namespace {

constexpr int kNoHead = -MAX_WBITS;

void set_input(z_stream& stream, std::span<const uint8_t> bytes) {
  stream.next_in = const_cast<Bytef*>(bytes.data());  // only read
  stream.avail_in = static_cast<uInt>(bytes.size());
}

void set_output(z_stream& stream, std::span<uint8_t> bytes) {
  stream.next_out = bytes.data();
  stream.avail_out = static_cast<uInt>(bytes.size());
}

// zlib counts in 32 bits.
bool is_small(std::span<const uint8_t> bytes) { return bytes.size() <= UINT32_MAX; }

}  // namespace

Deflater::Deflater() = default;

Deflater::~Deflater() {
  if (stream_) deflateEnd(stream_.get());
}

std::span<const uint8_t> Deflater::compress(std::span<const uint8_t> piece) {
  constexpr int kMemoryLevel = 8;
  if (piece.empty() || !is_small(piece)) return {};
  if (!stream_) {
    stream_ = std::make_unique<z_stream>();
    if (deflateInit2(stream_.get(), Z_BEST_SPEED, Z_DEFLATED, kNoHead, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK) {
      stream_.reset();
      return {};
    }
  } else {
    deflateReset(stream_.get());
  }
  output_.resize(piece.size() - 1);  // larger pieces gain nothing
  set_input(*stream_, piece);
  set_output(*stream_, output_);
  if (deflate(stream_.get(), Z_FINISH) != Z_STREAM_END) return {};
  return std::span(output_).first(output_.size() - stream_->avail_out);
}

Inflater::Inflater() : stream_(std::make_unique<z_stream>()) {
  if (inflateInit2(stream_.get(), kNoHead) != Z_OK) stream_.reset();
}

Inflater::~Inflater() {
  if (stream_) inflateEnd(stream_.get());
}

bool Inflater::decompress(std::span<const uint8_t> compressed, std::span<uint8_t> piece) {
  if (!stream_ || !is_small(compressed) || !is_small(piece)) return false;
  inflateReset(stream_.get());
  set_input(*stream_, compressed);
  set_output(*stream_, piece);
  return inflate(stream_.get(), Z_FINISH) == Z_STREAM_END && stream_->avail_in == 0 && stream_->avail_out == 0;
}

}  // namespace heaptap::base
