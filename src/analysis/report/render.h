// Renderers: a Report as text or JSON. Output is deterministic.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "analysis/report/frame_text.h"
#include "analysis/report/report.h"

namespace heaptap::report {

enum class View {
  kSummary,
  kLeaks,
  kTop,
  kTree,
  kStats,
  kSizes,
  kLifetimes,
  kTimeline,
  kBlocks,
  // Views of a leak scan; the report must have their data.
  kHolders,
  kRetained,
  kGlobals,
  kScans,
  kScanChanges,
  // Views of a run.
  kProcesses,
  kPrograms,
  // Views by the program's own labels.
  kTags,
  kPools
};

struct RenderOptions {
  bool color = false;          // text: with colours
  bool bottom_up = false;      // tree: from the allocating functions to their callers
  size_t limit = 0;            // text: rows of a list; 0: the view's default
  bool all_processes = false;  // end summary: a line for each process, however many
  size_t width = 80;           // text: of the terminal, in columns; 0: unlimited
  FrameTextOptions frames = {};
};

std::string render_text(const Report& report, View view, const RenderOptions& options);

// Keys are described in docs/report.schema.json and stable; numbers are exact; unknown values are null.
std::string render_json(const Report& report, View view, const RenderOptions& options);

// Same in pieces, so that a long view is never in memory as a whole.
using Write = std::function<void(std::string_view piece)>;
void write_text(const Report& report, View view, const RenderOptions& options, const Write& write);
void write_json(const Report& report, View view, const RenderOptions& options, const Write& write);

// NDJSON of the blocks or the timeline view: one object per line, as in `write_json`, and nothing else. Empty for other views.
void write_ndjson(const Report& report, View view, const RenderOptions& options, const Write& write);
bool has_ndjson(View view);

// Output format of views, by name: text, json, ndjson.
struct Renderer {
  std::string_view name;
  void (*write)(const Report& report, View view, const RenderOptions& options, const Write& write);
};
// Null if unknown.
const Renderer* find_renderer(std::string_view name);

// End of `heaptap run`: at most 12 lines.
std::string render_end_summary(const Report& report, const RenderOptions& options);

}  // namespace heaptap::report
