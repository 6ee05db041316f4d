// Streaming decoders of compressed files, in bounded memory.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace heaptap::imports {

class Decoder {
 public:
  enum class State {
    kBetween,  // the text may end here
    kWithin,
    kDamaged,  // no further output
  };
  struct Progress {
    size_t taken = 0;  // of the input, bytes
    size_t made = 0;   // of the output, bytes
  };

  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  virtual ~Decoder() = default;
  // Consumes or produces bytes, unless it needs more input or the data are damaged.
  virtual Progress decode(std::string_view input, std::span<char> output) = 0;
  [[nodiscard]] virtual State state() const = 0;
};

// Decoder for a file that starts with these bytes.
std::unique_ptr<Decoder> decoder_for(std::string_view head);

}  // namespace heaptap::imports
