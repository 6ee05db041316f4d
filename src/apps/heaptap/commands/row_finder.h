// Finder of unwind rows and function addresses that a remote recording lacks, in the files of the symbol sources; rows also from the
// symbol server.
#pragma once
#include <memory>

#include "analysis/symbols/resolver.h"
#include "apps/heaptap/commands/symbols_server.h"
#include "record/remote/row_finder.h"

namespace heaptap::app {

// `server` may be null. Null: no wake-up descriptor could be created.
std::unique_ptr<remote::RowFinder> make_row_finder(symbols::ResolverOptions options,
                                                   std::shared_ptr<SymbolsServer> server);

}  // namespace heaptap::app
