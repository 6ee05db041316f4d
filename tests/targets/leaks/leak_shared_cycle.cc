// Two objects with shared_ptr to each other: what was allocated first stands for the cycle as definite.
// LEVELS -O2
#include "leak.h"

#include <memory>
struct Node {
  std::shared_ptr<Node> other;
};
NOINLINE static void lose() {
  std::shared_ptr<Node> a(new Node), b(new Node);  // LEAK definite 1 *, indirect 3 *
  a->other = b;
  b->other = a;
}
NOINLINE static void lose_made() {
  auto a = std::make_shared<Node>();  // LEAK definite 1 32
  auto b = std::make_shared<Node>();  // LEAK indirect 1 32
  a->other = b;
  b->other = a;
}
NOINLINE static void release() {
  auto a = std::make_shared<Node>(), b = std::make_shared<Node>();
  a->other = b;
}
int main() {
  lose();
  lose_made();
  release();
  forget_registers();
  return 0;
}
