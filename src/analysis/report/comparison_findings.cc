// Findings of a comparison: changes from one recording to the next, in sentences.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/findings.h"
#include "analysis/report/telling_frame.h"
#include "analysis/report/text_parts.h"
#include "analysis/report/text_safe.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"

namespace heaptap::report {
namespace {

constexpr size_t kMaxComparedStacks = 8;

// "live: 1.0 KiB before, 3.0 KiB after: +2.0 KiB (+200.0%)."
Finding total_finding(const Comparison& comparison, Figure figure) {
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
          fmt::format("{}: {}: {}{}.", facts_of(figure).word, fmt::join(values, ", "),
                      change && *change == 0 ? "no change" : change_text(figure, change),
                      percent.empty() ? "" : " (" + percent + ")"),
          {}};
}

std::string counts_text(const Comparison& comparison) {
  std::vector<std::string> parts;
  for (const StackState state :
       {StackState::kNew, StackState::kGone, StackState::kGrown, StackState::kShrunk, StackState::kUnknown}) {
    const uint64_t count = comparison.states[static_cast<size_t>(state)];
    if (count != 0) parts.push_back(fmt::format("{} {}", base::format_count(count), name_of(state)));
  }
  if (parts.empty()) return fmt::format("No stack changed, by {}.", facts_of(comparison.sort).word);
  return fmt::format("Stacks by {}: {}.", facts_of(comparison.sort).word, fmt::join(parts, ", "));
}

Finding stack_finding(const Comparison& comparison, uint32_t place) {
  const ComparedStack& stack = comparison.stacks[place];
  const auto change = stack.change(comparison.sort);
  const model::Frame* const frame = telling_frame(comparison.list(stack.frames));
  const std::string where = frame == nullptr
                                ? "at an unknown place"
                                : fmt::format("in {} ({})", function_of(*frame, kNameWidth), location_of(*frame));
  return {change && *change > 0 ? Severity::kWarning : Severity::kInfo, FindingKind::kChange,
          base::safe_text(fmt::format("{} {}, {}{}, allocated {}.", change_text(comparison.sort, change),
                                      facts_of(comparison.sort).word, name_of(stack.state),
                                      stack.growing ? ", growing in each" : "", where)),
          place};
}

}  // namespace

std::vector<Finding> findings_of(const Comparison& comparison) {
  std::vector<Finding> findings;
  findings.push_back(total_finding(comparison, comparison.sort));
  if (comparison.sort != Figure::kLeakedBytes && comparison.change(Figure::kLeakedBytes))
    findings.push_back(total_finding(comparison, Figure::kLeakedBytes));
  findings.push_back({Severity::kInfo, FindingKind::kTotal, counts_text(comparison), {}});
  for (uint32_t place = 0; place < comparison.stacks.size() && place < kMaxComparedStacks; ++place) {
    if (comparison.stacks[place].state != StackState::kSame) findings.push_back(stack_finding(comparison, place));
  }
  for (const std::string& remark : remarks_of(comparison))
    findings.push_back({Severity::kWarning, FindingKind::kUnseen, base::safe_text(remark) + ".", {}});
  return findings;
}

}  // namespace heaptap::report
