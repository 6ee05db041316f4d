// Ends a download of debug information by a signal.
#pragma once

namespace heaptap::symbols {

// May be called by a signal's handler. True: one goes on, and ends now; when what it left is removed, the signal is raised again. False:
// there is none, or it was told so before.
bool stop_transfer(int number);

}  // namespace heaptap::symbols
