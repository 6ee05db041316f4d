// Where the names of a recording came from (--symbols, --sysroot, --symbols-server), kept for who reads its trace later. Not in the
// trace, which anybody may have made: no directory and no address of it is looked into or asked. In this user's own files, by when and
// of which process the recording was: $XDG_STATE_HOME/heaptap/names, or ~/.local/state/heaptap/names.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "analysis/analyze.h"
#include "app/symbols_server.h"
#include "base/result.h"
#include "model/event_source.h"
#include "report/report.h"

namespace heaptap::app {

struct NameSources {
  std::vector<std::string> symbols;
  std::vector<std::string> sysroots;
  std::shared_ptr<SymbolsServer> server = nullptr;
};

// Of the trace at this path. Where it can't be kept, the options are to be typed again.
void remember_name_sources(const std::string& trace, const NameSources& sources);

// What analysis::analyze() says, with names from where the query says; where it says nothing, from what is remembered. What is there no
// longer is said, once. Whatever reads a trace asks by this.
base::Result<report::Report> analyze_trace(model::EventSource& source, analysis::Query query);

}  // namespace heaptap::app
