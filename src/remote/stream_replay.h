// Replay of one stream's messages to compute its live blocks, for a leak scan without a host that knows them.
#pragma once
#include <cstdint>

#include "base/result.h"
#include "collect/frame_packing.h"
#include "collect/live_heap.h"
#include "collect/raw_stream.h"
#include "control/message.h"

namespace heaptap::remote {

class StreamReplay {
 public:
  explicit StreamReplay(uint64_t stream) : stream_(stream) {}

  // The next of all sent messages; those of other streams are ignored.
  void take(const control::Message& message);
  // Call at the end.
  base::Result<collect::LiveBlocks> finish();

 private:
  const uint64_t stream_;
  collect::DeflateUnpacker unpacker_;
  collect::ReceivedStream received_{&unpacker_};
  log::RawEvents events_;
  collect::LiveBlocks live_;
};

}  // namespace heaptap::remote
