// Where a log gets the memory of its chunks from, as its reader sees it.
#pragma once
#include <cstdint>

namespace heaptap::log {

class ChunkLender {
 public:
  ChunkLender() = default;
  ChunkLender(const ChunkLender&) = delete;
  ChunkLender& operator=(const ChunkLender&) = delete;
  virtual ~ChunkLender() = default;

  // How many of these bytes the log may have besides what it has; it has them then. `for_threads`: each of them needs some.
  virtual uint64_t lend(uint64_t bytes, bool for_threads) = 0;
  virtual void take_back(uint64_t bytes) = 0;
  // What a log may have without using it, so that this side can be late.
  virtual uint64_t share() = 0;
  // So many bytes are to be given back, as soon as they are free. Asked several times a second.
  virtual uint64_t overdue() = 0;
  // How many events were lost so far, for want of chunks or of something else. Told several times a second.
  virtual void note_lost(uint64_t events) = 0;
};

}  // namespace heaptap::log
