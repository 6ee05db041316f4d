#include "capture/tracer/stack_copy.h"

#include <algorithm>

#include "capture/tracer/thread_memory.h"
#include "common/base/sizes.h"

namespace heaptap::tracer {
namespace {

constexpr size_t kFirstBytes = 8192;
constexpr size_t kMaxAtOnce = 65536;
// Memory farther away than this isn't copied together with the gap.
constexpr uint64_t kMaxGap = 65536;

}  // namespace

void StackCopy::begin(pid_t thread, uint64_t start, uint64_t likely_end) {
  thread_ = thread;
  count_ = 0;
  const bool is_known = likely_end > start;
  add(start, is_known ? base::at_most(kMaxAtOnce, likely_end - start) : kFirstBytes);
}

const uint8_t* StackCopy::find(uint64_t address, size_t bytes) {
  for (size_t i = 0; i < count_; ++i) {
    Piece& piece = pieces_[i];
    if (address < piece.begin) continue;
    const uint64_t end = piece.begin + piece.bytes.size();
    if (address + bytes > end && address < end + kMaxGap && !piece.is_whole) {
      const uint64_t more = std::clamp(piece.bytes.size(), kFirstBytes, kMaxAtOnce);
      extend(piece, std::max(address + bytes, end + more));
    }
    if (const uint8_t* found = piece.holds(address, bytes)) {
      current_ = &piece;
      return found;
    }
  }
  return add(address, kFirstBytes).holds(address, bytes);
}

bool StackCopy::extend(Piece& piece, uint64_t end) {
  const size_t before = piece.bytes.size();
  if (end < piece.begin || end - piece.begin <= before) return false;
  const size_t wanted = base::size_of_known(end - piece.begin);
  piece.bytes.resize(wanted);
  const size_t got =
      ThreadMemory::read_some(thread_, memory_, piece.begin + before, piece.bytes.data() + before, wanted - before);
  piece.bytes.resize(before + std::min(got, wanted - before));
  piece.is_whole = got < wanted - before;
  return got > 0;
}

StackCopy::Piece& StackCopy::add(uint64_t begin, uint64_t bytes) {
  if (count_ < kPieces) ++count_;
  Piece& piece = pieces_[count_ - 1];
  piece.begin = begin;
  piece.bytes.clear();
  piece.is_whole = false;
  extend(piece, begin + bytes);
  current_ = &piece;
  return piece;
}

}  // namespace heaptap::tracer
