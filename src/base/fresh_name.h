// Files and folders of names that nobody has yet or can foresee (where the kernel gives no random numbers: that nobody has), as mkostemp() and mkdtemp() make them; those bring printf() into
// a static program.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "base/unique_fd.h"

namespace heaptap::base {

// Fills the bytes at random. False: it can't, as before the kernel has collected enough, or under a filter of system calls.
using Chance = bool (*)(std::span<uint8_t> bytes);
bool chance_of_kernel(std::span<uint8_t> bytes);

// The name begins so, and ends with letters of chance. Of mode 0600, to be read and written, closed on execution. None: errno says why.
UniqueFd make_fresh_file(std::string& name, Chance chance = chance_of_kernel);
// Of mode 0700. False: errno says why.
bool make_fresh_folder(std::string& name, Chance chance = chance_of_kernel);

}  // namespace heaptap::base
