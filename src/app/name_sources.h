// Where the names of a recording came from (--symbols, --sysroot, --symbols-server), kept for who reads its trace later. Not in the
// trace, which anybody may have made: no directory and no address of it is looked into or asked. In this user's own files, by when and
// of which process the recording was: $XDG_STATE_HOME/heaptap/names, or ~/.local/state/heaptap/names.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "app/symbols_server.h"
#include "model/capture.h"
#include "symbols/resolver.h"

namespace heaptap::app {

struct NameSources {
  std::vector<std::string> symbols;
  std::vector<std::string> sysroots;
  std::shared_ptr<SymbolsServer> server = nullptr;
};

// Of the trace at this path. Where it can't be kept, the options are to be typed again.
void remember_name_sources(const std::string& trace, const NameSources& sources);

// The options that were given, or where none was, those that are remembered. What is there no longer is said, once.
symbols::ResolverOptions with_remembered(symbols::ResolverOptions given, const model::Capture& capture);

}  // namespace heaptap::app
