// Largest number of a signal, on each CPU that is recorded (the kernel's _NSIG): a larger one was never sent.
#pragma once

namespace heaptap::model {

inline constexpr unsigned kMaxSignal = 64;

}  // namespace heaptap::model
