// With --follow-fork: a child that goes into strict mode, or under a filter, before its first event is not recorded, and ends as
// it does alone.
// OPTIONS --follow-fork
// RUN strict
// RUN filter
// RUN nested
#include "seccomp_child.c"
