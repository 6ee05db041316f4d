#include "common/line/session_name.h"

#include <sys/random.h>

#include "common/line/reliable_line.h"

namespace heaptap::line {

std::string new_session_name() {
  std::string name(kSessionBytes, '\0');
  size_t filled = 0;
  while (filled < name.size()) {
    const ssize_t got = getrandom(name.data() + filled, name.size() - filled, 0);
    if (got > 0) filled += static_cast<size_t>(got);
  }
  return name;
}

}  // namespace heaptap::line
