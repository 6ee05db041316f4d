// Findings of a comparison: changes from one recording to the next, in sentences.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/findings/comparison_text.h"
#include "analysis/findings/findings.h"
#include "analysis/findings/function_name.h"
#include "analysis/findings/telling_frame.h"
#include "analysis/findings/text_safe.h"
#include "analysis/report/comparison.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"

namespace heaptap::findings {
namespace {

constexpr size_t kMaxComparedStacks = 8;

// "live: 1.0 KiB before, 3.0 KiB after: +2.0 KiB (+200.0%)."; "live: 7 bytes before, 1.0 MiB after: +1.0 MiB (149,797 times as much)."
Finding total_finding(const report::Comparison& comparison, report::Figure figure) {
  std::vector<std::string> values;
  for (size_t number = 0; number < comparison.recordings.size(); ++number) {
    const std::string value = value_text(figure, comparison.recordings[number].totals[figure]);
    values.push_back(comparison.recordings.size() == 2 ? value + " " + label_of(comparison, number) : value);
  }
  const auto change = comparison.change(figure);
  const std::string percent = percent_text(change, comparison.recordings.front().totals[figure]);
  const Severity severity = !change ? Severity::kInfo : *change > 0 ? Severity::kWarning : Severity::kGood;
  return {severity,
          FindingKind::kTotal,
          fmt::format("{}: {}: {}{}.", report::facts_of(figure).word, fmt::join(values, ", "),
                      change && *change == 0 ? "no change" : change_text(figure, change),
                      percent.empty() ? "" : " (" + percent + ")"),
          {}};
}

std::string counts_text(const report::Comparison& comparison) {
  std::vector<std::string> parts;
  for (const report::StackState state :
       {report::StackState::kNew, report::StackState::kGone, report::StackState::kGrown, report::StackState::kShrunk,
        report::StackState::kUnknown}) {
    const uint64_t count = comparison.states[static_cast<size_t>(state)];
    if (count != 0) parts.push_back(fmt::format("{} {}", base::format_count(count), name_of(state)));
  }
  if (parts.empty()) return fmt::format("No stack changed, by {}.", report::facts_of(comparison.sort).word);
  return fmt::format("Stacks by {}: {}.", report::facts_of(comparison.sort).word, fmt::join(parts, ", "));
}

Finding stack_finding(const report::Comparison& comparison, uint32_t place) {
  const report::ComparedStack& stack = comparison.stacks[place];
  const auto change = stack.change(comparison.sort);
  const model::Frame* const frame = telling_frame(comparison.list(stack.frames));
  const std::string where = frame == nullptr
                                ? "at an unknown place"
                                : fmt::format("in {} ({})", function_of(*frame, kNameWidth), location_of(*frame));
  return {change && *change > 0 ? Severity::kWarning : Severity::kInfo, FindingKind::kChange,
          base::safe_text(fmt::format("{} {}, {}{}, allocated {}.", change_text(comparison.sort, change),
                                      report::facts_of(comparison.sort).word, name_of(stack.state),
                                      stack.growing ? ", growing in each" : "", where)),
          place};
}

}  // namespace

std::vector<Finding> findings_of(const report::Comparison& comparison) {
  std::vector<Finding> findings;
  findings.push_back(total_finding(comparison, comparison.sort));
  if (comparison.sort != report::Figure::kLeakedBytes && comparison.change(report::Figure::kLeakedBytes))
    findings.push_back(total_finding(comparison, report::Figure::kLeakedBytes));
  findings.push_back({Severity::kInfo, FindingKind::kTotal, counts_text(comparison), {}});
  size_t told = 0;
  std::vector<const report::ComparedStack*> of_libraries;
  for (uint32_t place = 0; place < comparison.stacks.size(); ++place) {
    const report::ComparedStack& stack = comparison.stacks[place];
    if (stack.state == report::StackState::kSame) continue;
    if (stack.purpose != report::Purpose::kProgram)
      of_libraries.push_back(&stack);
    else if (++told <= kMaxComparedStacks)
      findings.push_back(stack_finding(comparison, place));
  }
  if (const std::string text = libraries_text(comparison.sort, of_libraries); !text.empty())
    findings.push_back({Severity::kInfo, FindingKind::kChange, text + ".", {}});
  for (const std::string& remark : remarks_of(comparison))
    findings.push_back({Severity::kWarning, FindingKind::kUnseen, base::safe_text(remark) + ".", {}});
  return findings;
}

}  // namespace heaptap::findings
