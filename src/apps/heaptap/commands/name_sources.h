// Symbol sources of a recording (--symbols, --sysroot, --symbols-server), remembered for later readers of its trace. They are not in the
// trace, which is untrusted: no directory or address from it is ever used. They are in this user's files, keyed by the recording's time
// and process: $XDG_STATE_HOME/heaptap/names, or ~/.local/state/heaptap/names.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "analysis/query/analyze.h"
#include "analysis/report/report.h"
#include "apps/heaptap/commands/symbols_server.h"
#include "common/base/result.h"
#include "common/model/event_source.h"

namespace heaptap::app {

struct NameSources {
  std::vector<std::string> symbols;
  std::vector<std::string> sysroots;
  std::shared_ptr<SymbolsServer> server = nullptr;
};

// Saves them for the trace at this path. On failure the options must be given again later.
void remember_name_sources(const std::string& trace, const NameSources& sources);

// query::analyze() with symbol sources from the query or, if it has none, remembered ones. Missing sources are reported, once. All
// readers of traces use this.
base::Result<report::Report> analyze_trace(model::EventSource& source, query::Query query);

}  // namespace heaptap::app
