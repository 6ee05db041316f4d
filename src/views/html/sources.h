// Source files named by a report's own frames, for inclusion in the report file.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "analysis/report/report.h"

namespace heaptap::html {

using Sources = std::map<std::string, std::vector<std::string>>;  // lines, by the frames' path

// Files found on this machine, in the order of the stacks, up to kMaxSourceBytes in total. Paths come from the target's debug
// information, which may name any file: only regular files with a source file's extension are read.
Sources read_sources(const report::Report& report, const std::vector<std::string>& sysroots);

// Whether a file has the extension of a source file.
bool is_source_name(const std::string& path);

inline constexpr size_t kMaxSourceBytes = size_t{3} << 20;

}  // namespace heaptap::html
