// Answers to an assistant's questions, as text of any length. Made of the views that `show`, `check` and `diff` print.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "analysis/findings/verdict.h"
#include "analysis/report/comparison.h"
#include "analysis/symbols/resolver.h"
#include "apps/heaptap/mcp/served_directory.h"
#include "apps/heaptap/mcp/source_lines.h"
#include "common/base/result.h"

namespace heaptap::app {

struct McpSources {
  ServedDirectory directory;
  SourceLines lines;
  symbols::ResolverOptions symbols;
};

// A recording, and one of its processes; 0: all.
struct McpRecording {
  std::string name;
  uint64_t process = 0;
};

// First line: "verdict: leaks", "bad frees", "clean" or "unknown". `leaks`: that on a limit of no lost bytes, which says nothing about
// bad releases; where these aren't known, it isn't clean.
std::string verdict_text(const findings::Verdict& leaks, const report::Report& report);

base::Result<std::string> list_recordings(const McpSources& sources, const std::string& match);
// Verdict, findings, leaking stacks.
base::Result<std::string> tell_suspects(const McpSources& sources, const McpRecording& recording);
// What points to a block, or to the largest one of a stack: "#12", "b34", "0x5500".
base::Result<std::string> tell_holders(const McpSources& sources, const McpRecording& recording,
                                       const std::string& what);
// Source lines of a stack's frames.
base::Result<std::string> tell_source(const McpSources& sources, const McpRecording& recording, uint64_t stack,
                                      uint32_t around);

struct McpComparison {
  std::string before;  // recordings
  std::string after;
  std::string function;                              // only stacks with it; empty: all
  report::Figure sort = report::Figure::kLiveBytes;  // by the change of this
};
base::Result<std::string> tell_difference(const McpSources& sources, const McpComparison& comparison);
// Of one recording: `from` and `to` are moments.
base::Result<std::string> tell_growth(const McpSources& sources, const McpRecording& recording, const std::string& from,
                                      const std::string& to, report::Figure sort);
// Whether a leak is gone: of a stack of `before`, or without one of all stacks with the function.
base::Result<std::string> tell_fix(const McpSources& sources, const McpComparison& comparison,
                                   const std::optional<uint64_t>& stack);

// Path of the recording, or of the trace of its process.
base::Result<std::string> path_of(const McpSources& sources, const McpRecording& recording);

}  // namespace heaptap::app
