// Expressions with their shared automata.
// COMPILE -O1
// CLEAN
#include "leak.h"

#include <regex>
#include <string>
static std::regex* volatile kept;
int main() {
  kept = new std::regex("(a|b)*c([0-9]+)", std::regex::optimize);
  std::smatch match;
  std::string text = "abababc1234";
  REQUIRE(std::regex_match(text, match, *kept) && match[2] == "1234");
  std::regex again("x{2,5}");
  REQUIRE(!std::regex_match(text, again));
  forget_registers();
  return 0;
}
