// Progress messages of `run` and `attach` while the tracer works.
#pragma once
#include <string>
#include <string_view>

#include "capture/supervision/tracer_source.h"

namespace heaptap::app {

// `way_out`: how the user ends a recording; appended to the message that one has started.
std::string text_of(const supervision::TracingNews& news, std::string_view way_out);

}  // namespace heaptap::app
