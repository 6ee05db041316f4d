// 32-bit PowerPC CPU, as seen by who reads its programs.
#pragma once
#include "common/arch/cpu.h"

namespace heaptap::arch::powerpc {

const Cpu& cpu();

}  // namespace heaptap::arch::powerpc
