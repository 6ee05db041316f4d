#include "record/trace/compression.h"

#include <zstd.h>

#include "common/base/check.h"

namespace heaptap::trace {

struct Compressor::Context {
  ZSTD_CCtx* zstd = ZSTD_createCCtx();
  ~Context() { ZSTD_freeCCtx(zstd); }
};

Compressor::Compressor(int level) : context_(std::make_unique<Context>()) {
  HEAPTAP_CHECK(context_->zstd != nullptr);
  ZSTD_CCtx_setParameter(context_->zstd, ZSTD_c_compressionLevel, level);
}
Compressor::~Compressor() = default;

const std::vector<uint8_t>& Compressor::compress(const uint8_t* data, size_t bytes) {
  output_.resize(ZSTD_compressBound(bytes));
  const size_t result = ZSTD_compress2(context_->zstd, output_.data(), output_.size(), data, bytes);
  output_.resize(ZSTD_isError(result) != 0 || result >= bytes ? 0 : result);
  return output_;
}

struct Decompressor::Context {
  ZSTD_DCtx* zstd = ZSTD_createDCtx();
  ~Context() { ZSTD_freeDCtx(zstd); }
};

Decompressor::Decompressor() : context_(std::make_unique<Context>()) { HEAPTAP_CHECK(context_->zstd != nullptr); }
Decompressor::~Decompressor() = default;

bool Decompressor::decompress(const uint8_t* data, size_t bytes, size_t raw_bytes, std::vector<uint8_t>& output) {
  // Our frames contain their size: no memory is allocated for one that claims more than it can hold.
  const unsigned long long content = ZSTD_getFrameContentSize(data, bytes);
  if (content != raw_bytes && content != ZSTD_CONTENTSIZE_UNKNOWN) return false;
  output.resize(raw_bytes);
  const size_t result = ZSTD_decompressDCtx(context_->zstd, output.data(), raw_bytes, data, bytes);
  return ZSTD_isError(result) == 0 && result == raw_bytes;
}

}  // namespace heaptap::trace
