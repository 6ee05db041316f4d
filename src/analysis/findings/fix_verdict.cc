#include "analysis/findings/fix_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "analysis/findings/amount_text.h"
#include "analysis/findings/comparison_text.h"
#include "analysis/findings/telling_frame.h"
#include "analysis/findings/words.h"
#include "analysis/report/certainty.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"

namespace heaptap::findings {
namespace {

using report::ComparedStack;
using report::Figure;

// Share of the judged stacks in one recording.
struct Share {
  report::StackLeaks leaks;
  base::Known<uint64_t> allocations = 0;
};

using StacksById = std::map<uint64_t, const report::StackEntry*>;

StacksById stacks_by_id(const report::Report& report) {
  StacksById stacks;
  for (const report::StackEntry& stack : report.stacks) stacks.emplace(stack.id, &stack);
  return stacks;
}

template <typename Ids>
Share share_of(const StacksById& stacks, const Ids& ids) {
  Share share;
  for (const uint64_t id : ids) {
    const auto found = stacks.find(id);
    if (found == stacks.end()) continue;
    share.allocations += found->second->allocations;
    if (found->second->leaks) share.leaks += *found->second->leaks;
  }
  return share;
}

// "#3, #5 and 7 more"
std::string numbers_text(std::span<const uint64_t> ids) {
  constexpr size_t kMaxNamed = 5;
  std::string text;
  for (size_t i = 0; i < std::min(ids.size(), kMaxNamed); ++i) text += fmt::format("{}#{}", i == 0 ? "" : ", ", ids[i]);
  if (ids.size() > kMaxNamed) text += fmt::format(" and {} more", ids.size() - kMaxNamed);
  return text;
}

std::string function_of(const report::Comparison& comparison, const ComparedStack& stack) {
  const report::FrameList frames = comparison.list(stack.frames);
  const model::Frame* const frame = telling_frame(frames);
  return frame == nullptr ? "" : frame->function;
}

class Judge {
 public:
  Judge(const FixQuestion& question, uint64_t stack)
      : question_(question),
        stacks_before_(stacks_by_id(question.before)),
        stacks_after_(stacks_by_id(question.after)) {
    for (const ComparedStack& compared : question.comparison.stacks) {
      const std::span<const uint64_t> ids = compared.sides.front().ids;
      if (stack != 0 && std::ranges::find(ids, stack) == ids.end()) continue;
      before_ids_.insert(ids.begin(), ids.end());
      after_ids_.insert(compared.sides.back().ids.begin(), compared.sides.back().ids.end());
      functions_.insert(function_of(question.comparison, compared));
      if (share_of(stacks_before_, ids).leaks.lost().blocks != 0) leaking_.push_back(&compared);
    }
    before_ = share_of(stacks_before_, before_ids_);
    after_ = share_of(stacks_after_, after_ids_);
  }

  FixVerdict run() {
    judge();
    if (verdict_.state == FixState::kUnknown) look_for_names();
    return std::move(verdict_);
  }

 private:
  void judge() {
    if (!leaked_before()) return;
    if (const report::BlockCount lost = after_.leaks.lost(); lost.blocks != 0) {
      conclude(FixState::kStillThere);
      add(fmt::format("lost after: {}; before: {}", amount(lost), amount(before_.leaks.lost())));
      return;
    }
    report::BlockCount hidden = after_.leaks.suppressed;
    hidden += after_.leaks.ignored;
    if (hidden.blocks != 0) {
      conclude(FixState::kStillThere);
      add(fmt::format("lost after, and hidden by a suppression: {}", amount(hidden)));
      return;
    }
    conclude(FixState::kGone);
    look_for_scan();
    look_for_doubts_about_blocks();
    look_for_paths();
    look_for_other_path();
    if (verdict_.state == FixState::kGone) tell_of_gone();
  }

  void add(std::string reason) { verdict_.reasons.push_back(std::move(reason)); }
  void conclude(FixState state) { verdict_.state = state; }
  void doubt(std::string reason) {
    conclude(FixState::kUnknown);
    add(std::move(reason));
  }

  bool leaked_before() {
    if (before_ids_.empty()) {
      doubt("the recording before has no such stack");
    } else if (!question_.before.leaks.scanned) {
      doubt("the recording before has no leak scan");
    } else if (before_.leaks.lost().blocks == 0) {
      doubt("nothing of it was lost before: not a leak that could be fixed");
    } else {
      return true;
    }
    return false;
  }

  void look_for_scan() {
    using report::Certainty;
    const report::Report& after = question_.after;
    const Certainty certainty = report::certainty_of(after, report::LimitKind::kLeaked, report::has_early_scan(after));
    if (certainty == Certainty::kExact) return;
    if (!after.leaks.scanned)
      doubt("the recording after has no leak scan");
    else
      doubt("in the recording after some leaks may be unseen");
    const report::Recording& recording = question_.comparison.recordings.back();
    for (std::string& sentence : missing_of(recording, true)) add(std::move(sentence));
    for (std::string& sentence : doubts_of(recording, true)) add(std::move(sentence));
  }

  void look_for_doubts_about_blocks() {
    if (after_.leaks.possible.blocks != 0) doubt(fmt::format("possibly lost after: {}", amount(after_.leaks.possible)));
    if (after_.leaks.unknown.blocks != 0)
      doubt(fmt::format("lost or released unseen after: {}", amount(after_.leaks.unknown)));
  }

  // Stacks of the row that allocated in that recording, as far as it is known.
  static size_t run_count(const StacksById& stacks, std::span<const uint64_t> ids) {
    return static_cast<size_t>(std::ranges::count_if(ids, [&](uint64_t id) {
      const auto found = stacks.find(id);
      return found != stacks.end() && found->second->allocations.if_known().value_or(0) != 0;
    }));
  }

  // Each path that leaked has to run again; that others did, which never leaked, proves nothing. Which of several stacks with the same
  // lines is which is unknown: all of them have to.
  void look_for_paths() {
    std::vector<uint64_t> idle;
    std::vector<uint64_t> fewer;
    for (const ComparedStack* const path : leaking_) {
      const std::span<const uint64_t> ids = path->sides.front().ids;
      const size_t count = run_count(stacks_after_, path->sides.back().ids);
      if (count == 0)
        idle.push_back(ids.front());
      else if (count < run_count(stacks_before_, ids))
        fewer.push_back(ids.front());
    }
    if (!fewer.empty())
      doubt(fmt::format("fewer stacks allocated after on the path of {}: which of those before did is unknown",
                        numbers_text(fewer)));
    if (idle.empty()) return;
    doubt(
        fmt::format("nothing was allocated after on the path of {} of the recording before: the path did not run, its "
                    "functions were renamed, or the fix removed the allocation itself",
                    numbers_text(idle)));
    for (const std::string& module : question_.comparison.unmatched_modules)
      add(fmt::format("{} changed, and its functions have no names", base::safe_text(module)));
  }

  // The same leak may have another stack after its code was changed.
  void look_for_other_path() {
    for (const ComparedStack& stack : question_.comparison.stacks) {
      const bool is_new = stack.sides.front().ids.empty() && !after_ids_.contains(stack.sides.back().ids.front());
      const std::string function = function_of(question_.comparison, stack);
      const auto lost = stack.sides.back().figures[Figure::kLeakedBytes];
      if (!is_new || lost.value_or(0) == 0 || function.empty() || !functions_.contains(function)) continue;
      doubt(fmt::format("the same function loses {} after, by another path: #{}", base::format_bytes(*lost),
                        stack.sides.back().ids.front()));
    }
  }

  // A program that was built again since has no names in the recording before, and so no stack that is found again.
  void look_for_names() {
    using Lack = model::SymbolHint::Lack;
    for (const report::Report* const report : {&question_.before, &question_.after}) {
      for (const model::SymbolHint& hint : report->symbol_hints) {
        if (hint.lack == Lack::kSameFile || hint.lack == Lack::kFile) add(words_of(hint));
      }
    }
  }

  void tell_of_gone() {
    uint64_t allocations = 0;
    for (const ComparedStack* const path : leaking_)
      allocations += share_of(stacks_after_, path->sides.back().ids).allocations.counted();
    add(fmt::format("nothing of it was lost after, in {} on {}; before: {} lost", counted(allocations, "allocation"),
                    leaking_.size() == 1 ? "this path" : fmt::format("these {} paths", leaking_.size()),
                    amount(before_.leaks.lost())));
    if (after_.leaks.reachable.blocks != 0)
      add(fmt::format("at the scan after, pointers still led to {} of it", amount(after_.leaks.reachable)));
  }

  const FixQuestion& question_;
  StacksById stacks_before_;
  StacksById stacks_after_;
  std::vector<const ComparedStack*> leaking_;  // those asked about that lost blocks before
  std::set<uint64_t> before_ids_;
  std::set<uint64_t> after_ids_;
  std::set<std::string> functions_;
  Share before_;
  Share after_;
  FixVerdict verdict_;
};

}  // namespace

const char* name_of(FixState state) {
  switch (state) {
    case FixState::kGone:
      return "gone";
    case FixState::kStillThere:
      return "still there";
    case FixState::kUnknown:
      break;
  }
  return "unknown";
}

FixVerdict judge_fix(const FixQuestion& question, uint64_t stack) { return Judge(question, stack).run(); }

}  // namespace heaptap::findings
