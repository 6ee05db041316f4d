// x86-64 as a tracer sees it.
#pragma once
#include "arch/cpu.h"

namespace heaptap::arch::x86_64 {

const Cpu& cpu();

}  // namespace heaptap::arch::x86_64
