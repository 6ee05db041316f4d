#include "common/channel/random.h"

#include <cerrno>

#include "common/base/random_bytes.h"
#include "common/channel/failure.h"

namespace heaptap::channel {

base::Result<> fill_random(std::span<uint8_t> bytes) {
  if (base::fill_random(bytes)) return {};
  return fail({"can't encrypt: the kernel gives no random numbers: ", base::reason_of(errno)});
}

}  // namespace heaptap::channel
