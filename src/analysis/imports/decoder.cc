#include "analysis/imports/decoder.h"

#include <zstd.h>

#include <algorithm>

#include "common/base/check.h"
#include "common/base/gzip.h"

namespace heaptap::imports {
namespace {

class PlainDecoder : public Decoder {
 public:
  Progress decode(std::string_view input, std::span<char> output) override {
    const size_t size = std::min(input.size(), output.size());
    std::copy_n(input.begin(), size, output.begin());
    return {size, size};
  }
  [[nodiscard]] State state() const override { return State::kBetween; }
};

class GzipDecoder : public Decoder {
 public:
  Progress decode(std::string_view input, std::span<char> output) override {
    const base::GzipReader::Progress progress = reader_.read(input, output);
    return {progress.taken, progress.made};
  }
  [[nodiscard]] State state() const override {
    switch (reader_.state()) {
      case base::GzipReader::State::kBetween:
        return State::kBetween;
      case base::GzipReader::State::kWithin:
        return State::kWithin;
      case base::GzipReader::State::kDamaged:
        break;
    }
    return State::kDamaged;
  }

 private:
  base::GzipReader reader_;
};

// zstd decoder. zstd itself limits a frame's window (ZSTD_WINDOWLOG_LIMIT_DEFAULT: 128 MiB).
class ZstdDecoder : public Decoder {
 public:
  ZstdDecoder() : stream_(ZSTD_createDStream()) { HEAPTAP_CHECK(stream_ != nullptr); }
  ~ZstdDecoder() override { ZSTD_freeDStream(stream_); }
  ZstdDecoder(const ZstdDecoder&) = delete;
  ZstdDecoder& operator=(const ZstdDecoder&) = delete;

  Progress decode(std::string_view input, std::span<char> output) override {
    ZSTD_inBuffer in{input.data(), input.size(), 0};
    ZSTD_outBuffer out{output.data(), output.size(), 0};
    if (state_ == State::kDamaged || (state_ == State::kBetween && input.empty())) return {};
    const size_t left = ZSTD_decompressStream(stream_, &out, &in);
    state_ = ZSTD_isError(left) != 0 ? State::kDamaged : left == 0 ? State::kBetween : State::kWithin;
    return {in.pos, out.pos};
  }
  [[nodiscard]] State state() const override { return state_; }

 private:
  ZSTD_DStream* stream_;
  State state_ = State::kBetween;
};

}  // namespace

std::unique_ptr<Decoder> decoder_for(std::string_view head) {
  if (head.starts_with("\x1f\x8b")) return std::make_unique<GzipDecoder>();
  if (head.starts_with("\x28\xb5\x2f\xfd")) return std::make_unique<ZstdDecoder>();
  return std::make_unique<PlainDecoder>();
}

}  // namespace heaptap::imports
