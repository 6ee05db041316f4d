// Data of a report file, as JSON: docs/report-data.md.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "analysis/findings/findings.h"
#include "analysis/report/comparison.h"
#include "analysis/report/report.h"
#include "analysis/report/view.h"
#include "views/html/folding.h"
#include "views/html/sources.h"

namespace heaptap::html {

struct DocumentOptions {
  std::string title;
  size_t max_stacks = ~size_t{0};  // with rows of their own
  size_t max_processes = ~size_t{0};
  bool with_cells = true;
  bool with_suppressions = true;
  size_t max_name_bytes = 4096;
  const Sources* sources = nullptr;                  // null: none
  const report::Comparison* comparison = nullptr;    // the report's origin (views/html/difference.h); null: none
  const Weights* weights = nullptr;                  // of the comparison's stacks
  std::span<const findings::Finding> findings = {};  // of the report, or the comparison
};

// Writes JSON in pieces.
void write_document(const report::Report& report, const DocumentOptions& options, const report::Write& write);

}  // namespace heaptap::html
