// Renderers: a Report as text for people or as JSON for programs. The same report gives the same bytes.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

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
  kScanChanges
};

struct RenderOptions {
  bool color = false;          // text: with the terminal's colours
  bool bottom_up = false;      // tree: from the allocating functions to their callers
  size_t limit = 0;            // text: rows of a list; 0: the view's own measure
  bool all_processes = false;  // the end: a line for each, however many there are
};

std::string render_text(const Report& report, View view, const RenderOptions& options);

// The keys are described in docs and stay; numbers are exact; what isn't known is null.
std::string render_json(const Report& report, View view, const RenderOptions& options);

// Every form that a view comes in, by name: text, json.
struct Renderer {
  std::string_view name;
  std::string (*render)(const Report& report, View view, const RenderOptions& options);
};
// Null: there is none of that name.
const Renderer* find_renderer(std::string_view name);

// What `heaptap run` prints at the end: at most 12 lines.
std::string render_end_summary(const Report& report, const RenderOptions& options);

}  // namespace heaptap::report
