#include "views/html/packed_text.h"

#include "common/base/base64.h"
#include "common/base/byte_span.h"

namespace heaptap::html {

PackedText::PackedText() : keep_([this](std::string_view piece) { packed_ += piece; }), gzip_(keep_) {}

std::string PackedText::finish() {
  gzip_.finish();
  return base::base64_padded(base::bytes_of(packed_));
}

}  // namespace heaptap::html
