// LIBRARY late_replacing
// LINK -lstdc++
#include "late_operators.h"
LATE_USES(late_needing, tell)
