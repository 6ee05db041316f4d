// `heaptap report`: a self-contained HTML file that shows a report in a browser.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "analysis/report/comparison.h"
#include "analysis/report/report.h"

namespace heaptap::html {

struct HtmlOptions {
  std::string title;
  bool full = false;                       // all stacks and cells, whatever the file's size
  bool sources = false;                    // include lines of source files
  std::vector<std::string> sysroots = {};  // directories searched first for these
};

inline constexpr size_t kMaxFileBytes = size_t{5} << 20;

// At most kMaxFileBytes unless `full`: smaller stacks are folded until the file fits, and the file says how many. If that isn't
// enough, activity over time is left out.
std::string make_html(const report::Report& report, const HtmlOptions& options);
// Same for a comparison of recordings.
std::string make_html(const report::Comparison& comparison, const HtmlOptions& options);

}  // namespace heaptap::html
