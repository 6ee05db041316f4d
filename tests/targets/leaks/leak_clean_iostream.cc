// Streams, string streams and files of C++ keep memory to the end, and lose none.
// STDIN one two three\n
// CLEAN
#include "leak.h"

#include <fstream>
#include <iostream>
#include <sstream>
int main() {
  std::string word;
  while (std::cin >> word) std::cout << word << std::endl;
  std::ostringstream text;
  for (int i = 0; i < 1000; i++) text << i << ' ';
  std::ifstream self("/proc/self/stat");
  std::getline(self, word);
  std::cout << text.str().size() << '\n';
  forget_registers();
  return 0;
}
