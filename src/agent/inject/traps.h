// Handler of SIGTRAP while code of the program is replaced; see traps.cc.
#pragma once

// `info`: the siginfo_t.
extern "C" __attribute__((visibility("hidden"))) void heaptap_injected_on_trap(int number, int* info, void* context);
