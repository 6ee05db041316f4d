// Replay of one stream's messages to compute its live blocks, for a leak scan without a host that knows them.
#pragma once
#include <cstdint>

#include "capture/stream/frame_packing.h"
#include "capture/stream/live_heap.h"
#include "capture/stream/raw_stream.h"
#include "common/base/result.h"
#include "common/message/message.h"

namespace heaptap::uplink {

class StreamReplay {
 public:
  explicit StreamReplay(uint64_t stream) : stream_(stream) {}

  // The next of all sent messages; those of other streams are ignored.
  void take(const message::Message& message);
  // Call at the end.
  base::Result<stream::LiveBlocks> finish();

 private:
  const uint64_t stream_;
  stream::DeflateUnpacker unpacker_;
  stream::ReceivedStream received_{&unpacker_};
  log::RawEvents events_;
  stream::LiveBlocks live_;
};

}  // namespace heaptap::uplink
