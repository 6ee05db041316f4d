// Executes its arguments as a process that gets the orphans below it for its children, as a service manager is.
// TRACE none
#include "target.h"

#include <sys/prctl.h>
int main(int count, char** arguments) {
  REQUIRE(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
  execv(arguments[1], arguments + 1);
  return 127;
}
