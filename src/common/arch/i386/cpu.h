// i386 CPU of a traced target.
#pragma once
#include "common/arch/cpu.h"

namespace heaptap::arch::i386 {

const Cpu& cpu();

}  // namespace heaptap::arch::i386
