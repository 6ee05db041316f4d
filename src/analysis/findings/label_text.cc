#include "analysis/findings/label_text.h"

#include <fmt/format.h>

#include "analysis/findings/function_name.h"
#include "analysis/report/label_sums.h"
#include "common/base/safe_text.h"

namespace heaptap::findings {

std::string labels_of(const report::StackEntry& stack) {
  if (!stack.rare->earlier.empty()) return "before the recording, each of " + base::safe_text(stack.rare->earlier);
  std::string text;
  if (stack.pooled) text = fmt::format("pool: {}", base::safe_text(stack.rare->pool));
  if (!stack.rare->tags.empty())
    text += fmt::format("{}tag: {}", text.empty() ? "" : ", ", base::safe_text(report::path_of_tags(stack.rare->tags)));
  return text;
}

std::string labels_behind(const report::StackEntry& stack) {
  constexpr size_t kMaxShown = 48;
  const std::string labels = labels_of(stack);
  return labels.empty() ? "" : fmt::format("  [{}]", cut_middle(labels, kMaxShown));
}

}  // namespace heaptap::findings
