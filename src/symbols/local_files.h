// Whether the file of a module is on this machine, before anything is resolved.
#pragma once
#include "model/tables.h"
#include "symbols/resolver.h"

namespace heaptap::symbols {

// The module's file or its debug file is found, by its build-id, where `options` say and in the cache; servers aren't asked.
bool has_file(const ResolverOptions& options, const model::Module& module);

}  // namespace heaptap::symbols
