// Where functions of a program are by the symbol table of its file here, for a machine that has it without one.
#pragma once
#include <string>
#include <vector>

#include "model/told_functions.h"
#include "symbols/resolver.h"

namespace heaptap::symbols {

// Of the names that are asked for those that the file, or its debug file, has. Of a file with this build-id (bytes) alone.
std::vector<model::ToldFunction> find_functions(const ResolverOptions& options, const std::string& path,
                                                const std::string& build_id, const std::vector<std::string>& names);

}  // namespace heaptap::symbols
