#include "views/html/packed_text.h"

#include <cstddef>

#include "common/base/base64.h"
#include "common/base/byte_span.h"

namespace heaptap::html {
namespace {

// Padded, as data: URLs and atob() require.
std::string base64_of(std::string_view bytes) {
  constexpr size_t kGroup = 4;
  std::string text = base::base64_encode(base::bytes_of(bytes));
  text.append((kGroup - text.size() % kGroup) % kGroup, '=');
  return text;
}

}  // namespace

PackedText::PackedText() : keep_([this](std::string_view piece) { packed_ += piece; }), gzip_(keep_) {}

std::string PackedText::finish() {
  gzip_.finish();
  return base64_of(packed_);
}

}  // namespace heaptap::html
