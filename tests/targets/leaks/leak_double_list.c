// A list with pointers both ways: all blocks reach each other, so that one is definite and the others are indirect.
// RUN lost
// RUN held
#include "leak.h"
struct Node {
  struct Node *next, *previous;
};
static struct Node* volatile head;
NOINLINE static void append(void) {
  struct Node* node =
      malloc(sizeof *node);  // LEAK lost: definite 1 16/8, indirect 99 1584/792; held: reachable 100 1600/800
  node->next = head;
  node->previous = NULL;
  if (head) head->previous = node;
  head = node;
}
int main(int count, char** arguments) {
  for (int i = 0; i < 100; i++) append();
  while (said(arguments, "held") && head->next)
    head = head->next;  // by its last node, which the others can be reached from
  if (said(arguments, "lost")) head = NULL;
  forget_registers();
  return 0;
}
