#include "capture/uplink/stream_replay.h"

#include <utility>

#include "common/line/line_messages.h"
#include "common/line/message_fields.h"

namespace heaptap::uplink {

void StreamReplay::take(const message::Message& message) {
  if (message.kind != line::Kind::kBytes) return;
  const line::StreamBytes piece = line::decode_stream_bytes(message.fields);
  if (piece.stream != stream_) return;
  received_.receive(line::bytes_of(piece.bytes));
  do {
    events_.clear();
    received_.drain(events_, false);
    live_.apply(events_);
  } while (!received_.state().is_empty);
}

base::Result<stream::LiveBlocks> StreamReplay::finish() {
  if (received_.failure().empty()) return std::move(live_);
  return base::fail("no leak scan: the recording so far can't be read again: {}", received_.failure());
}

}  // namespace heaptap::uplink
