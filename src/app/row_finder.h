// Finds what a recording on another machine lacks, in the files that names are from: rows for unwinding, also at the server of symbols,
// and where functions are.
#pragma once
#include <memory>

#include "app/symbols_server.h"
#include "remote/row_finder.h"
#include "symbols/resolver.h"

namespace heaptap::app {

// `server` may be null. Null: there is no way to be woken up when something is found.
std::unique_ptr<remote::RowFinder> make_row_finder(symbols::ResolverOptions options,
                                                   std::shared_ptr<SymbolsServer> server);

}  // namespace heaptap::app
