#include "common/base/gzip.h"

#include <algorithm>
#include <array>

#include "common/base/check.h"

namespace heaptap::base {
namespace {

constexpr int kGzip = 16;  // with gzip's head, not zlib's

}  // namespace

GzipWriter::GzipWriter(const Write& write) : write_(write) {
  constexpr int kMemoryLevel = 8;
  constexpr int kLevel = 5;  // half of the time of 6, for 1 to 6 % more bytes of a report
  HEAPTAP_CHECK(deflateInit2(&stream_, kLevel, Z_DEFLATED, MAX_WBITS + kGzip, kMemoryLevel, Z_DEFAULT_STRATEGY) ==
                Z_OK);
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

GzipReader::GzipReader() { HEAPTAP_CHECK(inflateInit2(&stream_, MAX_WBITS + kGzip) == Z_OK); }

GzipReader::~GzipReader() { inflateEnd(&stream_); }

GzipReader::Progress GzipReader::read(std::string_view input, std::span<char> output) {
  constexpr size_t kMaxPiece = size_t{1} << 30;  // zlib counts in 32 bits
  input = input.substr(0, kMaxPiece);
  output = output.first(std::min(output.size(), kMaxPiece));
  stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
  stream_.avail_in = static_cast<uInt>(input.size());
  stream_.next_out = reinterpret_cast<Bytef*>(output.data());
  stream_.avail_out = static_cast<uInt>(output.size());
  while (state_ != State::kDamaged && stream_.avail_out != 0) {
    if (state_ == State::kBetween) {
      if (stream_.avail_in == 0) break;
      inflateReset(&stream_);
      state_ = State::kWithin;
    }
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_BUF_ERROR) break;  // it needs more input
    if (result == Z_STREAM_END)
      state_ = State::kBetween;
    else if (result != Z_OK)
      state_ = State::kDamaged;
  }
  return {input.size() - stream_.avail_in, output.size() - stream_.avail_out};
}

}  // namespace heaptap::base
