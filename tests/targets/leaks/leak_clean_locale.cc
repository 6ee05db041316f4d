// Locales of C and of C++, and their facets.
// CLEAN
#include "leak.h"

#include <clocale>
#include <iostream>
#include <locale>
#include <sstream>
struct Comma : std::numpunct<char> {
  char do_thousands_sep() const override { return ','; }
  std::string do_grouping() const override { return "\3"; }
};
int main() {
  setlocale(LC_ALL, "C.UTF-8");
  locale_t mine = newlocale(LC_ALL_MASK, "C.UTF-8", nullptr);
  uselocale(mine);
  std::ostringstream text;
  text.imbue(std::locale(std::locale::classic(), new Comma));
  text << 1234567;
  try {
    std::locale::global(std::locale("C.UTF-8"));
  } catch (const std::exception&) {
  }
  std::cout << text.str() << std::endl;
  forget_registers();
  return 0;
}
