// What a program that can't go on says: the library's own words for that bring a decoder of names and printf() into it, 60 KB.
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace __gnu_cxx {
void __verbose_terminate_handler();
}

void __gnu_cxx::__verbose_terminate_handler() {
  constexpr std::string_view kWords = "heaptap-target: it can't go on: an error that nothing expects\n";
  if (write(STDERR_FILENO, kWords.data(), kWords.size()) < 0) std::abort();
  std::abort();
}
