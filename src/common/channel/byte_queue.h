// Bounded FIFO of bytes to send.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heaptap::channel {

class ByteQueue {
 public:
  explicit ByteQueue(size_t max_bytes) : max_bytes_(max_bytes) {}

  [[nodiscard]] size_t size() const { return bytes_.size() - begin_; }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] size_t room() const { return max_bytes_ - size(); }

  // Returns the number of bytes accepted, limited by the free room.
  size_t add(std::span<const uint8_t> bytes) {
    const std::span<const uint8_t> taken = bytes.first(std::min(bytes.size(), room()));
    if (bytes_.size() + taken.size() > max_bytes_) {  // reuses the room of sent bytes; each byte moves once a round
      bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(begin_));
      begin_ = 0;
    }
    bytes_.insert(bytes_.end(), taken.begin(), taken.end());
    return taken.size();
  }
  [[nodiscard]] std::span<const uint8_t> front() const { return std::span(bytes_).subspan(begin_); }
  void drop(size_t bytes) {
    begin_ += std::min(bytes, size());
    if (begin_ < bytes_.size()) return;
    bytes_.clear();
    begin_ = 0;
  }

 private:
  size_t max_bytes_;
  std::vector<uint8_t> bytes_;
  size_t begin_ = 0;  // bytes before it are sent
};

}  // namespace heaptap::channel
