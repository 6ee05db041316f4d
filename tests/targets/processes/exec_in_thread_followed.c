// The same with --follow-exec.
// OPTIONS --follow-exec
// LINK -pthread
// TRACE any
// EXPECT exit 3
// REPEAT 3
#include "exec_in_thread.c"
