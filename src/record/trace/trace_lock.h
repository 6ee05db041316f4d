// Writer lock of a trace: a file lock that ends with the writer's process in any case, so that a reader can tell
// whether a trace without an end is truncated or still being written.
#pragma once

namespace heaptap::trace {

// No effect on file systems without locks.
void hold_as_writer(int descriptor);
bool is_being_written(int descriptor);

}  // namespace heaptap::trace
