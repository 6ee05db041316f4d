#include "remote/stream_replay.h"

#include <utility>

#include "remote/message_fields.h"

namespace heaptap::remote {

using control::Field;
using control::Kind;

void StreamReplay::take(const control::Message& message) {
  if (message.kind != Kind::kBytes || message.fields.number_or_0(Field::kStream) != stream_) return;
  received_.receive(bytes_of(message.fields.text(Field::kBytes).value_or("")));
  do {
    events_.clear();
    received_.drain(events_, false);
    live_.apply(events_);
  } while (!received_.state().is_empty);
}

base::Result<collect::LiveBlocks> StreamReplay::finish() {
  if (received_.failure().empty()) return std::move(live_);
  return base::fail("no leak scan: the recording so far can't be read again: {}", received_.failure());
}

}  // namespace heaptap::remote
