/* Asks heaptap what its input says: i(s recording), s(can), r(eport), o(ff), with all threads or from a second one; prints the answers. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "heaptap/heaptap.h"

static void* held;

static void* ask(void* letter) {
  heaptap_scan_counts counts = HEAPTAP_SCAN_COUNTS;
  int answer = -1;
  switch (*(const char*)letter) {
    case 'i':
      answer = heaptap_is_recording();
      break;
    case 's':
      answer = heaptap_scan(&counts);
      break;
    case 'r':
      answer = heaptap_report("asked.memlog");
      break;
    case 'o':
      heaptap_disable();
      answer = heaptap_is_recording();
      heaptap_enable();
      break;
    default:
      break;
  }
  printf("%c %d %d\n", *(const char*)letter, answer, counts.reachable_bytes >= 1000);
  fflush(stdout);
  return NULL;
}

int main(void) {
  char line[16];
  held = malloc(1000);
  while (fgets(line, sizeof line, stdin) != NULL) {
    pthread_t thread;
    if (line[1] != '2') {
      ask(line);
    } else if (pthread_create(&thread, NULL, ask, line) == 0) {
      pthread_join(thread, NULL);
    }
  }
  free(held);
  return 5;
}
