// Private keys in memory, wiped on destruction. All are registered in the process: a child forked to handle strangers
// keeps only its own.
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

// As fork(). The child keeps only the secret `kept`, if any, and no traces of secrets on the calling thread's stack.
pid_t fork_without_secrets(const SecretBytes::Bytes* kept);

}  // namespace heaptap::channel
