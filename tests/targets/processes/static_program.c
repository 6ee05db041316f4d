// A static program: no library can be preloaded into it.
// LINK -static -no-pie
// TRACE none
#include "target.h"
int main(void) {
  free(keep(malloc(10)));
  say("static\n");
  return 3;
}
