// The programs in a place: as they were unpacked before, or unpacked now.
#pragma once
#include <string>

#include "apps/onefile/payload.h"
#include "apps/onefile/place.h"
#include "common/base/result.h"

namespace heaptap::onefile {

// The directory in which they are now, complete and unchanged. What was interrupted or altered is unpacked again; of several processes
// that do so at the same time one does, the others wait for it.
base::Result<std::string> programs_in(const Place& place, const Payload& payload);

// In a new directory of the user's choice.
base::Result<> unpack_to(const std::string& path, const Payload& payload);

}  // namespace heaptap::onefile
