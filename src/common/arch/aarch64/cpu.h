// AArch64 as a CPU of the tracer's target.
#pragma once
#include "common/arch/cpu.h"

namespace heaptap::arch::aarch64 {

const Cpu& cpu();

}  // namespace heaptap::arch::aarch64
