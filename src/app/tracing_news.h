// The lines that `run` and `attach` print while the tracer works.
#pragma once
#include <string>
#include <string_view>

#include "collect/tracer_source.h"

namespace heaptap::app {

// `way_out`: how the user ends a recording, behind the line that one has begun.
std::string text_of(const collect::TracingNews& news, std::string_view way_out);

}  // namespace heaptap::app
