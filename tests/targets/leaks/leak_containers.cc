// Containers are lost as a whole. A map's and a list's memory points back at the container: the block that was allocated first
// stands for the group as definite, which is the container.
#include "leak.h"

#include <list>
#include <map>
#include <string>
#include <vector>
NOINLINE static void lose_vector() {
  auto* words = new std::vector<std::string>;  // LEAK definite 1 24/12
  words->reserve(10);                          // LEAK indirect 1 320/240
  // LEAK indirect 10 410
  for (int i = 0; i < 10; i++) words->emplace_back(40, 'w');
}
NOINLINE static void lose_map() {
  auto* names = new std::map<long, long>;         // LEAK definite 1 48/24
  for (long i = 0; i < 10; i++) (*names)[i] = i;  // LEAK indirect 10 480/240
}
NOINLINE static void lose_list() {
  auto* numbers = new std::list<long>;                  // LEAK definite 1 24/12
  for (long i = 0; i < 10; i++) numbers->push_back(i);  // LEAK indirect 10 240/120
}
int main() {
  lose_vector();
  lose_map();
  lose_list();
  forget_registers();
  return 0;
}
