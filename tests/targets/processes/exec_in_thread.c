// A thread that isn't the first executes another program while others allocate: it takes the process's id, and the others end.
// LINK -pthread
// TRACE any
// EXPECT exit 3
// REPEAT 3
#include "target.h"

#include <pthread.h>
static char* program;
static volatile int rounds;
static void* churn(void* unused) {
  for (;; rounds++) free(keep(malloc(30)));
  return unused;
}
static void* execute(void* unused) {
  char* next[] = {program, "again", NULL};
  while (rounds < 100) usleep(100);
  execv("/proc/self/exe", next);
  return unused;
}
int main(int count, char** arguments) {
  keep(malloc(100));
  if (count == 2) {
    say("executed again\n");
    return 3;
  }
  program = arguments[0];
  pthread_t ids[3];
  for (int i = 0; i < 2; i++) REQUIRE(pthread_create(&ids[i], NULL, churn, NULL) == 0);
  REQUIRE(pthread_create(&ids[2], NULL, execute, NULL) == 0);
  churn(NULL);
  return 0;
}
