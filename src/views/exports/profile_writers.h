// Writers of profile formats, one function each: see formats.h.
#pragma once
#include "views/exports/formats.h"

namespace heaptap::exports {

base::Result<> write_folded(const Input& input, const report::Write& write);
base::Result<> write_callgrind(const Input& input, const report::Write& write);
base::Result<> write_massif(const Input& input, const report::Write& write);
base::Result<> write_pprof(const Input& input, const report::Write& write);
base::Result<> write_dhat(const Input& input, const report::Write& write);
base::Result<> write_speedscope(const Input& input, const report::Write& write);
base::Result<> write_firefox(const Input& input, const report::Write& write);
base::Result<> write_heaptrack(const Input& input, const report::Write& write);

}  // namespace heaptap::exports
