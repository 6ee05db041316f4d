// i386 as a tracer sees it.
#pragma once
#include "arch/cpu.h"

namespace heaptap::arch::i386 {

const Cpu& cpu();

}  // namespace heaptap::arch::i386
