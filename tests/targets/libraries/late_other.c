// LINK -lstdc++
#include "late_operators.h"
LATE_USES(late_other, tell)
