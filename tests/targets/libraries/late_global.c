// LINK -lstdc++
#include "late_operators.h"
LATE_DEFINES(late_global)
LATE_USES(late_global, tell)
