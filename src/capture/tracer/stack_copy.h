// Copy of stack memory for a walk: read in few large pieces, from the innermost frame upwards.
#pragma once
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "capture/process/traced_memory.h"

namespace heaptap::tracer {

class StackCopy {
 public:
  explicit StackCopy(const process::TracedMemory& memory) : memory_(memory) {}

  // Discards the copy; a walk of the stopped `thread` begins at `start` and probably needs memory up to `likely_end`.
  void begin(pid_t thread, uint64_t start, uint64_t likely_end);

  // The `bytes` at `address`; null: unreadable.
  const uint8_t* at(uint64_t address, size_t bytes) {
    const uint64_t offset = address - current_->begin;
    if (offset < current_->bytes.size() && bytes <= current_->bytes.size() - offset) [[likely]]
      return current_->bytes.data() + offset;
    return find(address, bytes);
  }

 private:
  struct Piece {
    uint64_t begin = 0;
    std::vector<uint8_t> bytes;
    bool is_whole = false;  // nothing readable follows it

    [[nodiscard]] const uint8_t* holds(uint64_t address, size_t size) const {
      const uint64_t offset = address - begin;
      return offset < bytes.size() && size <= bytes.size() - offset ? bytes.data() + offset : nullptr;
    }
  };
  // A signal's stack, the interrupted one, and places with large frames.
  static constexpr size_t kPieces = 8;

  const uint8_t* find(uint64_t address, size_t bytes);
  bool extend(Piece& piece, uint64_t end);
  Piece& add(uint64_t begin, uint64_t bytes);

  const process::TracedMemory& memory_;
  pid_t thread_ = 0;
  std::array<Piece, kPieces> pieces_;
  size_t count_ = 0;
  Piece* current_ = pieces_.data();
};

}  // namespace heaptap::tracer
