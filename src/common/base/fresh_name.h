// Temporary files and directories with unpredictable unique names (without kernel random numbers: only unique), like
// mkostemp() and mkdtemp(), which would bring printf() into a static program.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "common/base/unique_fd.h"

namespace heaptap::base {

// Random source: fills the bytes. False: not available, e.g. before the kernel has enough entropy, or under a seccomp filter.
using RandomSource = bool (*)(std::span<uint8_t> bytes);
bool kernel_random(std::span<uint8_t> bytes);

// `name` is the prefix, and gets a random suffix. Mode 0600, read and write, close-on-exec. Empty on failure, errno set.
UniqueFd make_fresh_file(std::string& name, RandomSource source = kernel_random);
// Mode 0700. False on failure, errno set.
bool make_fresh_directory(std::string& name, RandomSource source = kernel_random);

}  // namespace heaptap::base
