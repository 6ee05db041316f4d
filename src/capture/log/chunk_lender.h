// Lender of memory for a log's chunks, as seen by the log's reader.
#pragma once
#include <cstdint>

namespace heaptap::log {

class ChunkLender {
 public:
  ChunkLender() = default;
  ChunkLender(const ChunkLender&) = delete;
  ChunkLender& operator=(const ChunkLender&) = delete;
  virtual ~ChunkLender() = default;

  // Lends up to `bytes` more to the log, and returns how many. `for_threads`: each of them needs some.
  virtual uint64_t lend(uint64_t bytes, bool for_threads) = 0;
  virtual void take_back(uint64_t bytes) = 0;
  // Amount that a log may hold in reserve, so that this side can be late.
  virtual uint64_t share() = 0;
  // Amount to be given back as soon as it is free. Called several times a second.
  virtual uint64_t overdue() = 0;
  // Number of events lost so far, for lack of chunks or other reasons. Called several times a second.
  virtual void note_lost(uint64_t events) = 0;
  // Whether this side and the program together may take so many bytes more for stacks, which are never given back.
  virtual bool permits(uint64_t bytes) = 0;
};

}  // namespace heaptap::log
