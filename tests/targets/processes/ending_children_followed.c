// The same with children that are recorded: they wait for a look at their memory, too.
// OPTIONS --follow-fork
// RUN
// RUN vfork

#include "ending_children.c"
