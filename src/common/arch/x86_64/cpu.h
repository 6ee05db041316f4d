// x86-64 CPU of a traced target.
#pragma once
#include "common/arch/cpu.h"

namespace heaptap::arch::x86_64 {

const Cpu& cpu();

}  // namespace heaptap::arch::x86_64
