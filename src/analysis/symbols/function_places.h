// Addresses of functions from the symbol table of a module's local file, for a machine whose copy is stripped.
#pragma once
#include <string>
#include <vector>

#include "analysis/symbols/resolver.h"
#include "common/model/told_functions.h"

namespace heaptap::symbols {

// Those of `names` that the file or its debug file has. Only files with this build-id (bytes) are used.
std::vector<model::ToldFunction> find_functions(const ResolverOptions& options, const std::string& path,
                                                const std::string& build_id, const std::vector<std::string>& names);

}  // namespace heaptap::symbols
