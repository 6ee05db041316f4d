// Optimised code without frame pointers: the whole path is exact.
// COMPILE -O2 -fomit-frame-pointer -fno-ipa-icf
// EXPECT stack function="operator new" path=Tree::make<Tree::grow<Tree::grow<Tree::grow<plant<main allocations=8 allocated_bytes=192
// EXPECT stack function="operator new" path=Tree::make<Tree::grow<Tree::grow<plant<main allocations=4
// EXPECT stack function="operator new" path=Tree::make<Tree::grow<plant<main allocations=2
// EXPECT stack function="operator new" path=Tree::make<plant<main allocations=1
// EXPECT stack through=plant allocations=15 frees=0
#include "target.h"
struct Tree {
  Tree *left = nullptr, *right = nullptr;
  size_t value = 0;
  static NOINLINE Tree* make() {
    Tree* tree = new Tree;
    return static_cast<Tree*>(keep(tree));
  }
  NOINLINE int grow(int depth) {
    if (depth == 0) return 1;
    left = make();
    int sum = left->grow(depth - 1);
    right = make();
    sum += right->grow(depth - 1);
    keep(&sum);
    return sum;
  }
};
NOINLINE int plant() {
  Tree* root = Tree::make();
  int sum = root->grow(3);
  keep(&sum);
  return sum;
}
int main() {
  REQUIRE(plant() == 8);
  return 0;
}
