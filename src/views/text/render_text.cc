#include "views/text/render_text.h"

#include "views/text/text_parts.h"
#include "views/text/text_table.h"

namespace heaptap::text {

std::string render_text(const report::Report& report, report::View view, const RenderOptions& options) {
  const TextContext context{report, options, Ink(options.color),
                            findings::FrameText(report.frames, report.skipped, options.frames)};
  if (!report.has_events) {
    if (view == report::View::kLifetimes) return text_not_kept(context, "lifetimes");
    if (view == report::View::kTimeline) return text_not_kept(context, "the timeline");
    if (view == report::View::kBlocks) return text_not_kept(context, "single blocks");
  }
  if (view == report::View::kLifetimes && !report.lifetimes) return text_not_kept(context, "lifetimes");
  if (view == report::View::kBlocks && !report.blocks) return text_not_kept(context, "single blocks");
  switch (view) {
    case report::View::kSummary:
      return text_summary(context);
    case report::View::kLeaks:
      return text_leaks(context);
    case report::View::kTop:
      return text_top(context);
    case report::View::kTree:
      return text_tree(context);
    case report::View::kStats:
      return text_stats(context);
    case report::View::kSizes:
      return text_sizes(context);
    case report::View::kLifetimes:
      return text_lifetimes(context);
    case report::View::kTimeline:
      return text_timeline(context);
    case report::View::kBlocks:
      return text_blocks(context);
    case report::View::kHolders:
      return text_holders(context);
    case report::View::kRetained:
      return text_retained(context);
    case report::View::kGlobals:
      return text_globals(context);
    case report::View::kScans:
      return text_scans(context);
    case report::View::kScanChanges:
      return text_scan_changes(context);
    case report::View::kFragmentation:
      return text_fragmentation(context);
    case report::View::kProcesses:
      return text_processes(context);
    case report::View::kPrograms:
      return text_programs(context);
    case report::View::kTags:
      return text_labels(context, "TAG");
    case report::View::kPools:
      return text_labels(context, "POOL");
  }
  return "";
}

}  // namespace heaptap::text
