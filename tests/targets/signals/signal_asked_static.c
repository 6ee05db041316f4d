// signal_asked.c without a loader: recorded by ptrace.
// LINK -static
// TRACE none
#include "signal_asked.c"
