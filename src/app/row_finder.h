// Finder of unwind rows and function addresses that a remote recording lacks, in the files of the symbol sources; rows also from the
// symbol server.
#pragma once
#include <memory>

#include "app/symbols_server.h"
#include "remote/row_finder.h"
#include "symbols/resolver.h"

namespace heaptap::app {

// `server` may be null. Null: no wake-up descriptor could be created.
std::unique_ptr<remote::RowFinder> make_row_finder(symbols::ResolverOptions options,
                                                   std::shared_ptr<SymbolsServer> server);

}  // namespace heaptap::app
