// Compresses what is written, as gzip does, piece by piece.
#pragma once
#include <zlib.h>

#include <functional>
#include <string_view>

namespace heaptap::base {

class GzipWriter {
 public:
  using Write = std::function<void(std::string_view piece)>;

  // `write` outlives it.
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

}  // namespace heaptap::base
