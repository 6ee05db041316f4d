// Tables by the program's own labels: tags or pools.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/report/label_sums.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"
#include "views/text/text_parts.h"
#include "views/text/text_table.h"

namespace heaptap::text {
namespace {

using base::format_bytes;
using base::format_count;

constexpr size_t kLabelRows = 20;

std::string name_of(const report::LabelEntry& label) {
  if (label.is_pool) return label.pool.empty() ? "(no name)" : base::safe_text(label.pool);
  return label.tags.empty() ? "(no tag)" : base::safe_text(report::path_of_tags(label.tags));
}

std::vector<std::string> row_of(const report::LabelEntry& label, bool has_leaks) {
  const report::StackEntry& sum = label.sum;
  std::vector<std::string> cells = {
      number_or("?", sum.live_bytes, format_bytes),  number_or("?", sum.live_blocks, format_count),
      number_or("-", sum.peak_bytes, format_bytes),  number_or("?", sum.allocated_bytes, format_bytes),
      number_or("?", sum.allocations, format_count), number_or("?", sum.temporary_allocations, format_count)};
  if (has_leaks) cells.push_back(sum.leaks ? format_bytes(sum.leaks->lost().bytes) : "?");
  cells.push_back(name_of(label));
  return cells;
}

}  // namespace

std::string text_labels(const TextContext& context, const char* title) {
  const std::vector<report::LabelEntry>& labels = context.report.labels;
  const bool has_leaks =
      std::ranges::any_of(labels, [](const report::LabelEntry& label) { return label.sum.leaks && !label.is_pool; });
  std::vector<TextTable::Column> columns{{"NOT FREED"}, {"BLOCKS"}, {"AT PEAK"}, {"TOTAL"}, {"CALLS"}, {"TEMPORARY"}};
  if (has_leaks) columns.push_back({"LEAKED"});
  columns.push_back({title, Align::kLeft});
  TextTable table(std::move(columns), context.options.width);
  const size_t shown = std::min(labels.size(), context.rows(kLabelRows));
  for (size_t i = 0; i < shown; ++i) table.add(row_of(labels[i], has_leaks));
  std::string text = title_of(context) + "\n" + table.render(context.ink);
  if (shown != labels.size())
    text += context.ink.dim(fmt::format("  ({} more: -n N shows more)", labels.size() - shown)) + "\n";
  return text + peak_process_line(context) + remarks_of(context);
}

}  // namespace heaptap::text
