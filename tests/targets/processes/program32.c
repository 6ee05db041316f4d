// A program of another word size than heaptap's agent.
// COMPILE -m32
// LINK -m32
// NEEDS -m32
// TRACE none
#include <stdlib.h>
#include <unistd.h>
int main(void) {
  free(malloc(10));
  return write(1, "32 bits\n", 8) == 8 ? 3 : 4;
}
