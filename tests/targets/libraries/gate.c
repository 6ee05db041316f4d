// To be preloaded: the program waits before its main() until the descriptor HEAPTAP_TEST_GATE ends. If there is HEAPTAP_TEST_END_GATE, it ends
// that at its exit, and waits once more until somebody reads no more from HEAPTAP_TEST_LEFT_GATE, in the same way.
#include <stdlib.h>
#include <unistd.h>

static int at_end = -1;
static int left = -1;

static int number_of(const char* name) {
  const char* text = getenv(name);
  const int number = text == 0 ? -1 : atoi(text);
  unsetenv(name);
  return number;
}

static void wait_for(int gate) {
  char byte;
  while (gate >= 0 && read(gate, &byte, 1) > 0) {
  }
  close(gate);
}

__attribute__((constructor)) static void wait_at_start(void) {
  const int start = number_of("HEAPTAP_TEST_GATE");
  at_end = number_of("HEAPTAP_TEST_END_GATE");
  left = number_of("HEAPTAP_TEST_LEFT_GATE");
  unsetenv("LD_PRELOAD");
  if (start >= 0) wait_for(start);
}

__attribute__((destructor)) static void wait_at_end(void) {
  if (at_end < 0) return;
  close(at_end);
  wait_for(left);
}
