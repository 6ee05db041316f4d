// `heaptap diff`: comparison of recordings, or of two moments of one.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analysis/findings/frame_text.h"
#include "analysis/query/analyze.h"
#include "analysis/query/compare.h"
#include "apps/heaptap/commands/html_file.h"
#include "apps/heaptap/options/color_mode.h"
#include "views/json/json_version.h"

namespace heaptap::app {

struct DiffOptions {
  std::vector<std::string> traces;  // two or more in order; one if moments are given
  uint32_t image = 0;               // program of each trace's process, from 1; 0: the last one
  std::string from;                 // a moment; empty: compare whole recordings
  std::string to;
  query::Query query;
  query::CompareOptions compare;
  std::vector<std::string> suppressions;  // files
  size_t limit = 10;                      // rows of text; 0: all
  size_t depth = 0;                       // frames of a whole stack in text; 0: all
  findings::FrameTextOptions frames;
  std::optional<json::Version> json;  // of the document; none: text
  bool html = false;                  // write the file described by `file`
  HtmlFileOptions file;
  ColorMode color = ColorMode::kAuto;
};

// Reports of whole traces, or of one trace's moments, in order of comparison.
base::Result<std::vector<report::Report>> read_for_comparison(const std::vector<std::string>& traces,
                                                              const query::Query& query);

// The comparison that these options ask for.
base::Result<report::Comparison> compare_recordings(const DiffOptions& options);

// Returns heaptap's exit status.
int perform(DiffOptions options);

}  // namespace heaptap::app
