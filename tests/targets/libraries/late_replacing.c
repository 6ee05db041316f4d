// LINK -lstdc++
#include "late_operators.h"
LATE_DEFINES(late_replacing)
LATE_USES(late_replacing, tell)
