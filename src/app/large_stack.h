// Runs heaptap where its stack may not grow as far as it needs: on one of its own.
#pragma once

namespace heaptap::app {

// Calls work(argc, argv), which doesn't throw, and gives its result.
int run_on_large_stack(int (*work)(int, char**), int argc, char** argv);

}  // namespace heaptap::app
