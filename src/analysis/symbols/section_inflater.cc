#include "analysis/symbols/section_inflater.h"

#include <elf.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>

namespace heaptap::symbols {

class SectionInflater::Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;
  struct Step {
    size_t bytes = 0;
    bool is_last = false;  // end of data, or invalid data
  };
  // Inflates as much as there is room for.
  virtual Step next(std::span<uint8_t> room) = 0;
};

// zlib stream without verification of its trailing checksum: that takes 7 % of the time, and most streams are not inflated to the end.
class SectionInflater::ZlibStream : public Stream {
 public:
  explicit ZlibStream(std::span<const uint8_t> from) {
    if (!has_plain_head(from)) return;
    stream_.next_in = const_cast<uint8_t*>(from.data() + kHeadBytes);
    stream_.avail_in = static_cast<uInt>(from.size() - kHeadBytes);
    ready_ = inflateInit2(&stream_, -MAX_WBITS) == Z_OK;
  }
  ~ZlibStream() override {
    if (ready_) inflateEnd(&stream_);
  }

  Step next(std::span<uint8_t> room) override {
    if (!ready_) return {.bytes = 0, .is_last = true};
    const auto bytes = static_cast<uInt>(std::min<size_t>(room.size(), size_t{1} << 30));
    stream_.next_out = room.data();
    stream_.avail_out = bytes;
    const int result = inflate(&stream_, Z_SYNC_FLUSH);
    return {.bytes = bytes - stream_.avail_out, .is_last = result != Z_OK};
  }

 private:
  static constexpr size_t kHeadBytes = 2;
  // RFC 1950: deflate without a dictionary.
  static bool has_plain_head(std::span<const uint8_t> from) {
    return from.size() > kHeadBytes && (from[0] & 0x0f) == Z_DEFLATED && (from[1] & 0x20) == 0 &&
           (from[0] << 8 | from[1]) % 31 == 0;
  }

  z_stream stream_{};
  bool ready_ = false;
};

class SectionInflater::ZstdStream : public Stream {
 public:
  explicit ZstdStream(std::span<const uint8_t> from)
      : context_(ZSTD_createDCtx()), input_{.src = from.data(), .size = from.size(), .pos = 0} {}

  // A section may consist of several frames.
  Step next(std::span<uint8_t> room) override {
    ZSTD_outBuffer output{.dst = room.data(), .size = room.size(), .pos = 0};
    const size_t read_before = input_.pos;
    const size_t result = ZSTD_decompressStream(context_.get(), &output, &input_);
    const bool stands = output.pos == 0 && input_.pos == read_before;
    return {.bytes = output.pos, .is_last = ZSTD_isError(result) != 0 || stands};
  }

 private:
  struct ContextEnd {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };

  std::unique_ptr<ZSTD_DCtx, ContextEnd> context_;
  ZSTD_inBuffer input_;
};

SectionInflater::SectionInflater(uint32_t type, std::span<const uint8_t> from, std::span<uint8_t> to) : to_(to) {
  if (type == ELFCOMPRESS_ZLIB) stream_ = std::make_unique<ZlibStream>(from);
  if (type == kZstd) stream_ = std::make_unique<ZstdStream>(from);
}

SectionInflater::~SectionInflater() = default;

bool SectionInflater::knows(uint32_t type) { return type == ELFCOMPRESS_ZLIB || type == kZstd; }

bool SectionInflater::inflate_to(uint64_t end) {
  constexpr uint64_t kStep = 64 << 10;
  if (end > to_.size()) return false;
  const uint64_t goal = std::min<uint64_t>(to_.size(), end + kStep);
  while (stream_ != nullptr && done_ < end) {
    const Stream::Step step = stream_->next(to_.subspan(done_, goal - done_));
    done_ += step.bytes;
    if (step.is_last) stream_.reset();
  }
  return done_ >= end;
}

bool SectionInflater::inflate_more() {
  constexpr uint64_t kStretch = 256 << 10;
  return inflate_to(std::min<uint64_t>(to_.size(), done_ + kStretch)) && done_ < to_.size();
}

}  // namespace heaptap::symbols
