// Loader of this program, which a static one has not (the kernel's AT_BASE, getauxval(3)): it can load no libraries.
#pragma once
#include <sys/auxv.h>

namespace heaptap::base {

inline bool has_loader() { return getauxval(AT_BASE) != 0; }

}  // namespace heaptap::base
