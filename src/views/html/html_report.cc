#include "views/html/html_report.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/findings/findings.h"
#include "common/base/safe_text.h"
#include "views/html/difference.h"
#include "views/html/document.h"
#include "views/html/packed_text.h"
#include "views/html/shell.h"

namespace heaptap::html {
namespace {

std::string escaped(const std::string& text) {
  std::string made;
  for (const char character : base::safe_text(text)) {
    switch (character) {
      case '&':
        made += "&amp;";
        break;
      case '<':
        made += "&lt;";
        break;
      case '>':
        made += "&gt;";
        break;
      case '"':
        made += "&quot;";
        break;
      case '\'':
        made += "&#39;";
        break;
      default:
        made += character;
    }
  }
  return made;
}

// Content for a browser without scripts: the verdict.
std::string noscript_of(const std::vector<findings::Finding>& findings, const HtmlOptions& options) {
  std::string text = "<h1>" + escaped(options.title) + "</h1><ul>";
  for (const findings::Finding& finding : findings) text += "<li>" + escaped(finding.text) + "</li>";
  return text + "</ul><p>The rest of this report needs a browser that runs its scripts.</p>";
}

// Each placeholder occurs once; inserted text isn't searched again.
std::string fill(std::string_view shell, const std::vector<std::pair<std::string_view, std::string_view>>& values) {
  std::string made;
  while (true) {
    const std::pair<std::string_view, std::string_view>* next = nullptr;
    size_t at = shell.npos;
    for (const auto& value : values) {
      if (const size_t place = shell.find(value.first); place < at) {
        at = place;
        next = &value;
      }
    }
    made += shell.substr(0, at);
    if (next == nullptr) return made;
    made += next->second;
    shell.remove_prefix(at + next->first.size());
  }
}

// Approximate number of stacks with rows of their own, from the packed size of a cell and of a stack with its frames.
size_t likely_to_fit(const report::Report& report, size_t room) {
  constexpr size_t kBytesOfStack = 60;
  constexpr size_t kBytesOfCell = 8;
  const size_t cells = report.activity ? report.activity->cells.size() + report.activity->left.size() : 0;
  const size_t all = report.stacks.size() * kBytesOfStack + cells * kBytesOfCell;
  return all <= room ? report.stacks.size() : report.stacks.size() * (room / 1024) / (all / 1024);
}

std::string packed(const report::Report& report, const DocumentOptions& options) {
  PackedText packed;
  write_document(report, options, [&packed](std::string_view piece) { packed.write(piece); });
  return packed.finish();
}

// Drops a part of the document to make it smaller, the least important first. False: nothing is left to drop.
bool make_smaller(DocumentOptions& document, const report::Report& report, size_t bytes, size_t room) {
  static constexpr size_t kLongName = 1024;
  constexpr size_t kShortName = 128;
  constexpr size_t kLeastStacks = 500;
  constexpr size_t kLeastProcesses = 100;
  const size_t stacks = std::min(document.max_stacks, report.stacks.size());
  const auto is_long = [](const model::Frame& frame) { return frame.function.size() > kLongName; };
  if (document.max_name_bytes > kLongName && std::ranges::any_of(report.frames, is_long)) {
    document.max_name_bytes = kLongName;
  } else if (stacks > kLeastStacks) {
    // Size is roughly proportional to the number of stacks: fold a few more than computed.
    const double share = 0.8 * static_cast<double>(room) / static_cast<double>(bytes);
    document.max_stacks = std::max(kLeastStacks, static_cast<size_t>(static_cast<double>(stacks) * share));
  } else if (document.with_cells) {
    document.with_cells = false;
  } else if (document.max_name_bytes > kShortName) {
    document.max_name_bytes = kShortName;
  } else if (document.with_suppressions) {
    document.with_suppressions = false;
  } else if (document.max_processes > kLeastProcesses) {
    document.max_processes /= 4;
  } else {
    return false;
  }
  return true;
}

// The document, folded until it is small enough.
std::string data_that_fits(const report::Report& report, DocumentOptions document, bool full) {
  constexpr size_t kMaxProcesses = 2000;
  constexpr size_t kRoomForText = size_t{64} << 10;
  if (full) {
    document.max_name_bytes = ~size_t{0};
    return packed(report, document);
  }
  const size_t room = kMaxFileBytes - shell().size() - kRoomForText;
  document.max_stacks = likely_to_fit(report, room);
  document.max_processes = kMaxProcesses;
  while (true) {
    std::string data = packed(report, document);
    if (data.size() <= room || !make_smaller(document, report, data.size(), room)) return data;
  }
}

std::string html_of(const std::string& data, const std::vector<findings::Finding>& findings,
                    const HtmlOptions& options) {
  const std::string title = escaped(options.title);
  const std::string noscript = noscript_of(findings, options);
  return fill(shell(), {{"{{title}}", title}, {"{{noscript}}", noscript}, {"{{data}}", data}});
}

}  // namespace

std::string make_html(const report::Report& report, const HtmlOptions& options) {
  Sources sources;
  if (options.sources) sources = read_sources(report, options.sysroots);
  const std::vector<findings::Finding> found = findings::findings_of(report);
  const DocumentOptions document{.title = options.title, .sources = &sources, .findings = found};
  return html_of(data_that_fits(report, document, options.full), found, options);
}

std::string make_html(const report::Comparison& comparison, const HtmlOptions& options) {
  const report::Report report = report_of(comparison);
  const Weights weights = weights_of(comparison);
  const std::vector<findings::Finding> found = findings::findings_of(comparison);
  const DocumentOptions document{
      .title = options.title, .comparison = &comparison, .weights = &weights, .findings = found};
  return html_of(data_that_fits(report, document, options.full), found, options);
}

}  // namespace heaptap::html
