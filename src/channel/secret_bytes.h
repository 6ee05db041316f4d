// Private keys in memory. They are wiped where they end, and this process knows where all of them are: one that is forked to hear
// strangers keeps none but its own.
#pragma once
#include <sys/types.h>

#include <array>
#include <cstdint>

namespace heaptap::channel {

class SecretBytes {
 public:
  using Bytes = std::array<uint8_t, 32>;

  SecretBytes() : SecretBytes(Bytes{}) {}
  explicit SecretBytes(const Bytes& bytes);
  SecretBytes(const SecretBytes& other) : SecretBytes(other.bytes_) {}
  SecretBytes& operator=(const SecretBytes& other);
  ~SecretBytes();

  [[nodiscard]] const Bytes& bytes() const { return bytes_; }
  [[nodiscard]] Bytes& bytes() { return bytes_; }

 private:
  friend pid_t fork_without_secrets(const Bytes* kept);

  static void wipe_all_but(const Bytes* kept);

  Bytes bytes_;
  SecretBytes* before_ = nullptr;
  SecretBytes* behind_ = nullptr;
};

// As fork(). The child has these bytes, if any are named, and no other secret; nor what working with one left on the stack of the
// thread that calls.
pid_t fork_without_secrets(const SecretBytes::Bytes* kept);

}  // namespace heaptap::channel
