// Whether this program can load libraries: a static one has no loader (the kernel's AT_BASE, getauxval(3)).
#pragma once
#include <sys/auxv.h>

namespace heaptap::base {

inline bool has_loader() { return getauxval(AT_BASE) != 0; }

}  // namespace heaptap::base
