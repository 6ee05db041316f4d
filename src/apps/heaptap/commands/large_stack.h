// Stack of sufficient size for heaptap, where the process's own stack limit is too low.
#pragma once

namespace heaptap::app {

// Calls work(argc, argv), which must not throw, and returns its result.
int run_on_large_stack(int (*work)(int, char**), int argc, char** argv);

}  // namespace heaptap::app
