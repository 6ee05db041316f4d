// 32-bit ARM CPU, as seen by who reads its programs.
#pragma once
#include "common/arch/cpu.h"

namespace heaptap::arch::arm {

const Cpu& cpu();

}  // namespace heaptap::arch::arm
