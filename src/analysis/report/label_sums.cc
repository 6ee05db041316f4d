#include "analysis/report/label_sums.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/report/function_name.h"
#include "analysis/report/stack_sums.h"
#include "common/base/safe_text.h"

namespace heaptap::report {

std::string path_of_tags(const std::vector<std::string>& tags) {
  std::string path;
  for (const std::string& tag : tags) path += fmt::format("{}{}", path.empty() ? "" : "/", tag);
  return path;
}

std::string labels_of(const StackEntry& stack) {
  std::string text;
  if (stack.pooled) text = fmt::format("pool: {}", base::safe_text(stack.pool));
  if (!stack.tags.empty())
    text += fmt::format("{}tag: {}", text.empty() ? "" : ", ", base::safe_text(path_of_tags(stack.tags)));
  return text;
}

std::string labels_behind(const StackEntry& stack) {
  constexpr size_t kMaxShown = 48;
  const std::string labels = labels_of(stack);
  return labels.empty() ? "" : fmt::format("  [{}]", cut_middle(labels, kMaxShown));
}

void add_to_labels(std::vector<LabelEntry>& labels, const LabelEntry& part) {
  const auto found = std::ranges::find_if(
      labels, [&](const LabelEntry& label) { return label.tags == part.tags && label.pool == part.pool; });
  if (found == labels.end()) {
    labels.push_back(part);
    return;
  }
  add_figures(found->sum, part.sum);
}

}  // namespace heaptap::report
