#include "analysis/report/render.h"
#include "analysis/report/text_parts.h"

namespace heaptap::report {

std::string render_text(const Report& report, View view, const RenderOptions& options) {
  const TextContext context{report, options, Ink(options.color),
                            FrameText(report.frames, report.skipped, options.frames)};
  if (!report.has_events) {
    if (view == View::kLifetimes) return text_not_kept(context, "lifetimes");
    if (view == View::kTimeline) return text_not_kept(context, "the timeline");
    if (view == View::kBlocks) return text_not_kept(context, "single blocks");
  }
  if (view == View::kLifetimes && !report.lifetimes_known) return text_not_kept(context, "lifetimes");
  if (view == View::kBlocks && !report.blocks_known) return text_not_kept(context, "single blocks");
  switch (view) {
    case View::kSummary:
      return text_summary(context);
    case View::kLeaks:
      return text_leaks(context);
    case View::kTop:
      return text_top(context);
    case View::kTree:
      return text_tree(context);
    case View::kStats:
      return text_stats(context);
    case View::kSizes:
      return text_sizes(context);
    case View::kLifetimes:
      return text_lifetimes(context);
    case View::kTimeline:
      return text_timeline(context);
    case View::kBlocks:
      return text_blocks(context);
    case View::kHolders:
      return text_holders(context);
    case View::kRetained:
      return text_retained(context);
    case View::kGlobals:
      return text_globals(context);
    case View::kScans:
      return text_scans(context);
    case View::kScanChanges:
      return text_scan_changes(context);
    case View::kProcesses:
      return text_processes(context);
    case View::kPrograms:
      return text_programs(context);
    case View::kTags:
      return text_labels(context, "TAG");
    case View::kPools:
      return text_labels(context, "POOL");
  }
  return "";
}

void write_text(const Report& report, View view, const RenderOptions& options, const Write& write) {
  write(render_text(report, view, options));
}

}  // namespace heaptap::report
