// Text compressed with gzip and encoded in base64, piece by piece.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "common/base/gzip.h"

namespace heaptap::html {

class PackedText {
 public:
  PackedText();
  PackedText(const PackedText&) = delete;
  PackedText& operator=(const PackedText&) = delete;

  void write(std::string_view piece) { gzip_.write(piece); }
  // The whole text in base64; to be called once.
  std::string finish();

 private:
  std::string packed_;
  std::function<void(std::string_view)> keep_;
  base::GzipWriter gzip_;
};

}  // namespace heaptap::html
