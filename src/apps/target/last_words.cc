// Termination message for uncaught errors: the C++ library's own would bring in a demangler and printf(), 60 KB.
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace __gnu_cxx {
void __verbose_terminate_handler();
}

void __gnu_cxx::__verbose_terminate_handler() {
  constexpr std::string_view kWords = "heaptap-target: internal error, aborting\n";
  if (write(STDERR_FILENO, kWords.data(), kWords.size()) < 0) std::abort();
  std::abort();
}
