#include "common/base/check.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace heaptap::base {

// By write(): the target's program has no streams.
void fail_check(const char* file, int line, const char* condition) noexcept {
  std::string words = "heaptap: broken promise at ";
  words.append(file).append(":").append(std::to_string(line)).append(": ").append(condition).append("\n");
  if (write(STDERR_FILENO, words.data(), words.size()) < 0) std::abort();
  std::abort();
}

}  // namespace heaptap::base
