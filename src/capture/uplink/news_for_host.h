// News of the tracer for a host, whose user doesn't see this machine's output.
#pragma once
#include <optional>
#include <string>

#include "capture/supervision/recorded_processes.h"
#include "capture/supervision/tracer_source.h"
#include "common/message/message.h"

namespace heaptap::uplink {

// None: another message says it.
std::optional<message::Message> message_of(const supervision::TracingNews& news);
// None: nothing is missing.
std::optional<message::Message> message_of(const supervision::FinishedTrace& trace);

}  // namespace heaptap::uplink
