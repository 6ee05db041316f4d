#include "common/line/session_name.h"

#include <array>
#include <cstdint>

#include "common/base/random_bytes.h"
#include "common/line/reliable_line.h"

namespace heaptap::line {

std::string new_session_name() {
  std::array<uint8_t, kSessionBytes> bytes{};
  // Without random numbers there is no channel either, and no session.
  (void)base::fill_random(bytes);
  return {bytes.begin(), bytes.end()};
}

}  // namespace heaptap::line
