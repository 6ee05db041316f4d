// Check whether a module's file is on this machine, before anything is resolved.
#pragma once
#include "analysis/symbols/resolver.h"
#include "common/model/tables.h"

namespace heaptap::symbols {

// Whether the module or its debug file is found by build-id, in the places of `options` and the cache; servers aren't asked.
bool has_file(const ResolverOptions& options, const model::Module& module);

}  // namespace heaptap::symbols
