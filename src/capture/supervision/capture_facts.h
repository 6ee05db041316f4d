// Facts of a capture that don't depend on how a process is recorded.
#pragma once
#include "common/model/capture.h"
#include "common/wire/architecture.h"

namespace heaptap::supervision {

// Sets the program's machine, as far as its architecture tells, this one, and heaptap's version. The program's pages are taken for this
// machine's.
void set_machines(model::Capture& capture, wire::Architecture architecture);

}  // namespace heaptap::supervision
