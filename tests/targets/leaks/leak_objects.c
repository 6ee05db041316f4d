// Objects as GLib makes them: each begins with a pointer to its class record, and has private data in front of it, as much as its
// class wants, so that the program has pointers into the middle of their blocks alone. What is held so is held, what is lost is
// lost, and what something points into at another place may be chance.
#include "leak.h"
#define CLASSES 20

struct record {
  size_t private_bytes;
  size_t bytes;
  void (*methods[4])(void);
};
struct object {
  struct record* record;
  struct object* other;
  void* values[];
};
static struct record* volatile records[CLASSES];
static struct object* volatile held[CLASSES];
static void* volatile stale;

NOINLINE static struct record* make_record(int number) {
  struct record* record = calloc(1, sizeof *record);  // LEAK reachable 20 *
  record->private_bytes = 16 * (number + 1);
  record->bytes = sizeof(struct object) + 8 * number * number;
  return record;
}
NOINLINE static struct object* make_object(struct record* record) {
  // LEAK definite 3 *, indirect 1 *, possible 1 *, reachable 40 *
  char* memory = calloc(1, record->private_bytes + record->bytes);
  struct object* object = (struct object*)(memory + record->private_bytes);
  object->record = record;
  return object;
}
static void fill(void) {
  for (int i = 0; i < CLASSES; i++) {
    records[i] = make_record(i);
    held[i] = make_object(records[i]);
    held[i]->other = make_object(records[i]);  // held by the first one alone
  }
  for (int i = 0; i < 3; i++) {
    struct object* lost = make_object(records[i]);
    if (i == 0) lost->other = make_object(records[7]);
  }
  stale = &make_object(records[9])->other;
}
int main(void) {
  far_below(fill);
  return 0;
}
