#include "capture/uplink/stream_replay.h"

#include <utility>

#include "common/line/message_fields.h"

namespace heaptap::uplink {

using message::Field;
using message::Kind;

void StreamReplay::take(const message::Message& message) {
  if (message.kind != Kind::kBytes || message.fields.number_or_0(Field::kStream) != stream_) return;
  received_.receive(line::bytes_of(message.fields.text(Field::kBytes).value_or("")));
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
