// A tree: its root node is lost, or only the left half, or nothing.
// RUN root
// RUN left
// RUN nothing
#include "leak.h"
struct Node {
  struct Node *left, *right;
  char payload[24];
};
static struct Node* volatile root;
NOINLINE static struct Node* plant(int depth) {
  // LEAK root: definite 1 40/32, indirect 30 1200/960
  // LEAK left: definite 1 40/32, indirect 14 560/448, reachable 16 640/512
  // LEAK nothing: reachable 31 1240/992
  struct Node* node = malloc(sizeof *node);
  node->left = depth ? plant(depth - 1) : NULL;
  node->right = depth ? plant(depth - 1) : NULL;
  return node;
}
static void plant_all(void) { root = plant(4); }
int main(int count, char** arguments) {
  far_below(plant_all);
  if (said(arguments, "left")) root->left = NULL;
  if (said(arguments, "root")) root = NULL;
  forget_registers();
  return 0;
}
