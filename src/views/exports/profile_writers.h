// Writers of profile formats, one function each: see formats.h.
#pragma once
#include <cstdint>
#include <span>

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

// A moment's profile in the format of pprof, for a store that keeps those of many moments and programs.
struct StoredProfile {
  std::span<const MetricKind> metrics;  // as far as they are known
  uint64_t time_unix_ns = 0;
  uint64_t duration_ns = 0;  // of what is counted since another moment; 0: a state
};
// Without samples of nothing, and without labels of samples, which stores take for those of a series. False: it has no samples.
bool write_stored_pprof(const Input& input, const StoredProfile& profile, const report::Write& write);

}  // namespace heaptap::exports
