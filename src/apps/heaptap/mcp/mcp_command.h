// `heaptap mcp`: answers an assistant's questions about recordings, by the Model Context Protocol on stdin and stdout.
#pragma once
#include <string>
#include <vector>

#include "analysis/symbols/resolver.h"
#include "common/base/result.h"
#include "views/mcp/tool.h"

namespace heaptap::app {

struct McpOptions {
  std::string directory = ".";       // of the recordings
  std::vector<std::string> sources;  // more directories of source files
  symbols::ResolverOptions symbols;
};

// What an assistant may call. Fails if a directory can't be opened.
base::Result<std::vector<mcp::Tool>> make_tools(const McpOptions& options);

// Returns heaptap's exit status, at the end of stdin.
int perform(const McpOptions& options);

}  // namespace heaptap::app
