// `heaptap report`: one HTML file that shows a report in a browser, with nothing else beside it.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "report/comparison.h"
#include "report/render.h"
#include "report/report.h"

namespace heaptap::html {

struct HtmlOptions {
  std::string title;
  bool full = false;                       // all stacks and cells, however large the file becomes
  bool sources = false;                    // with the lines of source files
  std::vector<std::string> sysroots = {};  // where these are looked for first
};

inline constexpr size_t kMaxFileBytes = size_t{5} << 20;

// At most kMaxFileBytes, unless it is wanted in full: the smaller stacks are folded until it is so small, and the file says
// how many. Where even that doesn't suffice, what happened when is left out.
std::string make_html(const report::Report& report, const HtmlOptions& options);
// The same of recordings that are compared.
std::string make_html(const report::Comparison& comparison, const HtmlOptions& options);

}  // namespace heaptap::html
