#include "analysis/findings/compared_rows.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace heaptap::findings {
namespace {

using report::ComparedStack;
using report::StackState;

// Stacks that may be merged, by their numbers in the last recording that has them.
struct Alike {
  std::vector<report::StackEntry> entries;
  std::unordered_map<uint64_t, const ComparedStack*> stacks;
};
using AlikeKey = std::tuple<size_t, StackState, bool>;  // recording, state, growing

report::StackEntry entry_of(const ComparedStack& stack, uint64_t id) {
  report::StackEntry entry;
  entry.id = id;
  entry.function = stack.function;
  entry.variant = stack.variant;
  entry.mapping = stack.mapping;
  entry.purpose = stack.purpose;
  entry.frames = stack.frames;
  return entry;
}

// Values of one figure, one per recording; unknown if any stack's is.
std::vector<std::optional<uint64_t>> values_of(report::Figure figure, const SiteRow& row, const Alike& alike) {
  std::vector<std::optional<uint64_t>> values;
  for (const uint64_t id : row.ids) {
    const std::vector<report::StackSide>& sides = alike.stacks.at(id)->sides;
    values.resize(sides.size(), std::optional<uint64_t>(0));
    for (size_t i = 0; i < sides.size(); ++i) {
      const auto& value = sides[i].figures[figure];
      values[i] = values[i] && value ? std::optional(*values[i] + *value) : std::nullopt;
    }
  }
  return values;
}

// Sort key, ascending.
std::pair<bool, uint64_t> weight_of_change(const ComparedRow& row) {
  const auto change = row.change();
  if (!change) return {true, 0};
  const bool by_growth = row.values.size() > 2;
  const auto bits = static_cast<uint64_t>(*change);
  return {false, ~(by_growth ? bits ^ uint64_t{1} << 63 : *change < 0 ? 0 - bits : bits)};
}

}  // namespace

bool is_changed(const report::Comparison& comparison, const ComparedStack& stack) {
  const auto& first = stack.sides.front().figures[comparison.sort];
  return std::ranges::any_of(stack.sides, [&](const report::StackSide& side) {
    const auto& value = side.figures[comparison.sort];
    return !value || value != first;
  });
}

ComparedList::ComparedList(const report::Comparison& comparison, const FrameTextOptions& frames, bool unchanged)
    : comparison_(comparison) {
  const bool sums_up_libraries = !unchanged && comparison.recordings.front().report.filter.empty();
  for (const ComparedStack& stack : comparison.stacks) {
    if (!unchanged && !is_changed(comparison, stack))
      ++changed_otherwise_;
    else if (sums_up_libraries && stack.purpose != report::Purpose::kProgram)
      of_libraries_.push_back(&stack);
    else
      stacks_.push_back(&stack);
  }
  add_texts(frames);
}

void ComparedList::add_texts(const FrameTextOptions& frames) {
  std::vector<std::vector<bool>> shown(comparison_.recordings.size(), std::vector<bool>(comparison_.frames.size()));
  const auto show = [&](report::FramePath path, std::vector<bool>& frames_of_recording) {
    for (const report::FrameIndex index : comparison_.frames.indices(path)) frames_of_recording[index] = true;
  };
  for (const ComparedStack* stack : stacks_) {
    show(stack->frames, shown[last_of(*stack)]);
    show(stack->frames_before, shown[first_of(*stack)]);
  }
  for (size_t number = 0; number < shown.size(); ++number) {
    std::vector<model::Frame> own;
    for (report::FrameIndex index = 0; index < shown[number].size(); ++index) {
      if (shown[number][index]) own.push_back(comparison_.frames[index]);
    }
    texts_.emplace_back(own, comparison_.recordings[number].report.skipped, frames);
  }
}

size_t ComparedList::first_of(const ComparedStack& stack) {
  const auto side = std::ranges::find_if(stack.sides, [](const auto& each) { return !each.ids.empty(); });
  return side == stack.sides.end() ? 0 : static_cast<size_t>(side - stack.sides.begin());
}

size_t ComparedList::last_of(const ComparedStack& stack) {
  size_t last = stack.sides.size() - 1;
  while (last != 0 && stack.sides[last].ids.empty()) --last;
  return last;
}

std::vector<ComparedRow> ComparedList::rows() const {
  std::map<AlikeKey, Alike> all;
  std::unordered_map<const ComparedStack*, size_t> places;
  for (const ComparedStack* stack : stacks_) {
    const size_t last = last_of(*stack);
    const report::StackIds& ids = stack->sides[last].ids;
    const uint64_t id = ids.empty() ? 0 : ids.front();
    Alike& alike = all[AlikeKey{last, stack->state, stack->growing}];
    alike.entries.push_back(entry_of(*stack, id));
    alike.stacks.emplace(id, stack);
    places.emplace(stack, places.size());
  }
  std::vector<std::pair<size_t, ComparedRow>> placed;  // by each row's first stack
  for (auto& [key, alike] : all) {
    const auto& [recording, state, growing] = key;
    for (SiteRow& site : merge_sites(text_of(recording), comparison_.frames, alike.entries)) {
      std::vector<std::optional<uint64_t>> values = values_of(comparison_.sort, site, alike);
      const size_t place = places.at(alike.stacks.at(site.ids.front()));
      placed.emplace_back(place, ComparedRow{.site = std::move(site),
                                             .recording = recording,
                                             .state = state,
                                             .growing = growing,
                                             .values = std::move(values)});
    }
  }
  std::ranges::sort(placed, {}, [](const auto& each) { return std::pair(weight_of_change(each.second), each.first); });
  std::vector<ComparedRow> rows;
  for (auto& [place, row] : placed) rows.push_back(std::move(row));
  return rows;
}

}  // namespace heaptap::findings
