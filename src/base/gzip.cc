#include "base/gzip.h"

#include <array>

#include "base/check.h"

namespace heaptap::base {

GzipWriter::GzipWriter(const Write& write) : write_(write) {
  constexpr int kGzip = 16;  // with gzip's head, not zlib's
  constexpr int kMemoryLevel = 8;
  HEAPTAP_CHECK(deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, kMemoryLevel,
                             Z_DEFAULT_STRATEGY) == Z_OK);
}

GzipWriter::~GzipWriter() { deflateEnd(&stream_); }

void GzipWriter::put(std::string_view piece, int flush) {
  std::array<char, size_t{1} << 15> compressed{};
  stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
  stream_.avail_in = static_cast<uInt>(piece.size());
  do {
    stream_.next_out = reinterpret_cast<Bytef*>(compressed.data());
    stream_.avail_out = compressed.size();
    HEAPTAP_CHECK(deflate(&stream_, flush) != Z_STREAM_ERROR);
    write_(std::string_view(compressed.data(), compressed.size() - stream_.avail_out));
  } while (stream_.avail_out == 0);
}

}  // namespace heaptap::base
