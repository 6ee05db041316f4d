#include "common/channel/secret_bytes.h"

#include <string.h>
#include <unistd.h>

#include <mutex>

namespace heaptap::channel {
namespace {

// List of all secrets; any thread may copy a key.
struct AllSecrets {
  std::mutex mutex;
  SecretBytes* first = nullptr;
};

AllSecrets& all_secrets() {
  static AllSecrets all;
  return all;
}

// More stack than BearSSL and the functions above it use.
[[gnu::noinline]] void wipe_stack_below() {
  constexpr size_t kLeftBytes = size_t{24} << 10;
  std::array<uint8_t, kLeftBytes> left;
  explicit_bzero(left.data(), left.size());
}

}  // namespace

SecretBytes::SecretBytes(const Bytes& bytes) : bytes_(bytes) {
  AllSecrets& all = all_secrets();
  const std::scoped_lock lock(all.mutex);
  behind_ = all.first;
  if (behind_ != nullptr) behind_->before_ = this;
  all.first = this;
}

SecretBytes& SecretBytes::operator=(const SecretBytes& other) {
  if (this != &other) bytes_ = other.bytes_;
  return *this;
}

SecretBytes::~SecretBytes() {
  explicit_bzero(bytes_.data(), bytes_.size());
  AllSecrets& all = all_secrets();
  const std::scoped_lock lock(all.mutex);
  if (before_ != nullptr) before_->behind_ = behind_;
  if (behind_ != nullptr) behind_->before_ = before_;
  if (all.first == this) all.first = behind_;
}

void SecretBytes::wipe_all_but(const Bytes* kept) {
  for (SecretBytes* each = all_secrets().first; each != nullptr; each = each->behind_) {
    if (kept == nullptr || each->bytes_ != *kept) explicit_bzero(each->bytes_.data(), each->bytes_.size());
  }
  wipe_stack_below();
}

pid_t fork_without_secrets(const SecretBytes::Bytes* kept) {
  // Not held by a thread that the child doesn't have.
  const std::scoped_lock lock(all_secrets().mutex);
  const pid_t process = fork();
  if (process == 0) SecretBytes::wipe_all_but(kept);
  return process;
}

}  // namespace heaptap::channel
