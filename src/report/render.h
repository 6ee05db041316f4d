// Renderers: a Report as text for people or as JSON for programs. The same report gives the same bytes.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "report/frame_text.h"
#include "report/report.h"

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
  // Of a leak scan, where the report has what they show.
  kHolders,
  kRetained,
  kGlobals,
  kScans,
  kScanChanges,
  // Of a run.
  kProcesses,
  kPrograms,
  // By what the program calls what it allocates.
  kTags,
  kPools
};

struct RenderOptions {
  bool color = false;          // text: with the terminal's colours
  bool bottom_up = false;      // tree: from the allocating functions to their callers
  size_t limit = 0;            // text: rows of a list; 0: the view's own measure
  bool all_processes = false;  // the end: a line for each, however many there are
  size_t width = 80;           // text: of the terminal, in characters; 0: lines of any length
  FrameTextOptions frames = {};
};

std::string render_text(const Report& report, View view, const RenderOptions& options);

// The keys are described in docs/report.schema.json and stay; numbers are exact; what isn't known is null.
std::string render_json(const Report& report, View view, const RenderOptions& options);

// The same in pieces, so that a long view is never in memory as a whole.
using Write = std::function<void(std::string_view piece)>;
void write_text(const Report& report, View view, const RenderOptions& options, const Write& write);
void write_json(const Report& report, View view, const RenderOptions& options, const Write& write);

// The lists of blocks or of the timeline: an object a line, like those of `write_json`, and nothing else. Of other views
// nothing.
void write_ndjson(const Report& report, View view, const RenderOptions& options, const Write& write);
bool has_ndjson(View view);

// Every form that a view comes in, by name: text, json, ndjson.
struct Renderer {
  std::string_view name;
  void (*write)(const Report& report, View view, const RenderOptions& options, const Write& write);
};
// Null: there is none of that name.
const Renderer* find_renderer(std::string_view name);

// What `heaptap run` prints at the end: at most 12 lines.
std::string render_end_summary(const Report& report, const RenderOptions& options);

}  // namespace heaptap::report
