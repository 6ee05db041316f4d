#include "analysis/findings/ignored_text.h"

#include <fmt/format.h>

#include "analysis/findings/amount_text.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"

namespace heaptap::findings {
namespace {

// The rules that matched something, in the form of the user's files.
std::string places_text(const report::Ignored& ignored) {
  constexpr size_t kMaxPlaces = 3;
  std::string text;
  size_t count = 0;
  for (const report::IgnoreRule& rule : ignored.rules) {
    if (rule.count.stacks == 0 || ++count > kMaxPlaces) continue;
    text += (text.empty() ? "" : ", ") + base::safe_text(rule.place);
  }
  return count > kMaxPlaces ? fmt::format("{} and {} more", text, count - kMaxPlaces) : text;
}

}  // namespace

std::string ignored_text(const report::Report& report) {
  const report::IgnoredCount sum = report.ignored.sum();
  if (sum.stacks == 0) return {};
  const report::Totals& totals = report.totals;
  const std::string bytes = totals.live_bytes.is_known() ? base::format_bytes(sum.live_bytes) : "unknown bytes";
  const std::string blocks = totals.live_blocks.is_known() ? " in " + counted(sum.live_blocks, "block") : std::string();
  const std::string mapped =
      sum.mapped_live_bytes != 0 ? fmt::format(", {} mapped,", base::format_bytes(sum.mapped_live_bytes)) : "";
  return fmt::format("{} with {}{}{} not freed {} ignored ({})", counted(sum.stacks, "stack"), bytes, blocks, mapped,
                     sum.stacks == 1 ? "is" : "are", places_text(report.ignored));
}

}  // namespace heaptap::findings
