// Who writes a trace holds a lock of its file, which ends with the writer however that ends: so a reader knows whether a trace
// without an end is cut off, or grows.
#pragma once

namespace heaptap::trace {

// Where the file's system knows no locks, nothing is held.
void hold_as_writer(int descriptor);
bool is_being_written(int descriptor);

}  // namespace heaptap::trace
