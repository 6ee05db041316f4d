// Streaming gzip compression and decompression, in bounded memory.
#pragma once
#include <zlib.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

namespace heaptap::base {

class GzipWriter {
 public:
  using Write = std::function<void(std::string_view piece)>;

  // `write` must outlive it.
  explicit GzipWriter(const Write& write);
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;
  ~GzipWriter();

  void write(std::string_view piece) { put(piece, Z_NO_FLUSH); }
  void finish() { put({}, Z_FINISH); }

 private:
  void put(std::string_view piece, int flush);

  const Write& write_;
  z_stream stream_{};
};

// Decompressor. Concatenated gzip members are read as one, as gzip does.
class GzipReader {
 public:
  enum class State {
    kBetween,  // at the beginning, or after a complete member
    kWithin,
    kDamaged,  // and remains so
  };
  struct Progress {
    size_t taken = 0;  // of the input
    size_t made = 0;   // of the output
  };

  GzipReader();
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;
  ~GzipReader();

  // Continues until the input is used up or the output is full.
  Progress read(std::string_view input, std::span<char> output);
  [[nodiscard]] State state() const { return state_; }

 private:
  State state_ = State::kBetween;
  z_stream stream_{};
};

}  // namespace heaptap::base
