// The source files that a report's own frames name, for those who want them in the report file.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "report/report.h"

namespace heaptap::html {

using Sources = std::map<std::string, std::vector<std::string>>;  // lines, by the path that the frames have

// Those that are on this machine, of the stacks in their order, until all are kMaxSourceBytes. A path comes from the target's
// debug information, which may name any file: only plain files with the suffix of a source file are read.
Sources read_sources(const report::Report& report, const std::vector<std::string>& sysroots);

inline constexpr size_t kMaxSourceBytes = size_t{3} << 20;

}  // namespace heaptap::html
