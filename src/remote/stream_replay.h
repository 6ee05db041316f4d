// What is alive by the messages of one stream, for a leak scan where no host knows it: they are read again.
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

  // The next one of all that were sent; those of other streams are passed over.
  void take(const control::Message& message);
  // At the end.
  base::Result<collect::LiveBlocks> finish();

 private:
  const uint64_t stream_;
  collect::DeflateUnpacker unpacker_;
  collect::ReceivedStream received_{&unpacker_};
  log::RawEvents events_;
  collect::LiveBlocks live_;
};

}  // namespace heaptap::remote
