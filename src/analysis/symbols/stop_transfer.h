// Interruption of a debug information download by a signal.
#pragma once

namespace heaptap::symbols {

// May be called by a signal handler. True: a download is running and ends now; after its cleanup the signal is raised again. False: none
// is running, or it was already interrupted.
bool stop_transfer(int number);

}  // namespace heaptap::symbols
