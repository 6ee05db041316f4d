// Makes text of a file's bytes, piece by piece, in bounded memory.
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
    kDamaged,  // nothing more will come
  };
  struct Progress {
    size_t taken = 0;  // of the input
    size_t made = 0;   // of the output
  };

  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  virtual ~Decoder() = default;
  // Takes or makes something, but for where it needs more input or is damaged.
  virtual Progress decode(std::string_view input, std::span<char> output) = 0;
  [[nodiscard]] virtual State state() const = 0;
};

// By the file's first bytes.
std::unique_ptr<Decoder> decoder_for(std::string_view head);

}  // namespace heaptap::imports
