#include "analysis/query/stack_similarity.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

namespace heaptap::query {
namespace {

constexpr size_t kMaxCandidates = 200;  // of a group and side: all pairs are compared

bool is_same(const SimilarFrame& before, const SimilarFrame& after) {
  if (before.place && after.place) return before.place == after.place && before.function == after.function;
  return before.function != 0 && before.function == after.function;
}

struct CommonPath {
  size_t own = 0;  // frames of code that differs
  size_t all = 0;
  std::vector<bool> before, after;  // which frames are in it
};

CommonPath common_path(const std::vector<SimilarFrame>& before, const std::vector<SimilarFrame>& after) {
  const size_t width = after.size() + 1;
  std::vector<uint32_t> lengths((before.size() + 1) * width);  // hash of the frames from here outwards
  for (size_t i = before.size(); i-- > 0;) {
    for (size_t j = after.size(); j-- > 0;) {
      lengths[i * width + j] = is_same(before[i], after[j])
                                   ? lengths[(i + 1) * width + j + 1] + 1
                                   : std::max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  CommonPath path{.before = std::vector<bool>(before.size()), .after = std::vector<bool>(after.size())};
  for (size_t i = 0, j = 0; i < before.size() && j < after.size();) {
    if (is_same(before[i], after[j])) {
      path.own += before[i].own && after[j].own ? 1 : 0;
      ++path.all;
      path.before[i++] = path.after[j++] = true;
    } else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
  return path;
}

size_t own_frames(const SimilarStack& stack) {
  return static_cast<size_t>(std::ranges::count(stack.frames, true, &SimilarFrame::own));
}

// The functions of frames outside of the path.
std::set<uint32_t> functions_beside(const std::vector<SimilarFrame>& frames, const std::vector<bool>& in_path) {
  std::set<uint32_t> functions;
  for (size_t i = 0; i < frames.size(); ++i) {
    if (!in_path[i] && frames[i].function != 0) functions.insert(frames[i].function);
  }
  return functions;
}

// Functions by which the stack is found: the innermost one of its own code; if lines, and so inlined frames, are
// unknown, also the next one.
std::vector<uint32_t> anchors_of(const SimilarStack& stack) {
  std::vector<uint32_t> anchors;
  for (const SimilarFrame& frame : stack.frames) {
    if (!frame.own) continue;
    anchors.push_back(frame.function);
    if (frame.has_line || anchors.size() == 2) break;
  }
  return anchors;
}

struct Likeness {
  size_t own = 0;
  size_t all = 0;
};

// Empty: not a match. A function beside the path in both was called from provably different lines.
std::optional<Likeness> likeness_of(const SimilarStack& before, const SimilarStack& after) {
  const CommonPath path = common_path(before.frames, after.frames);
  const size_t own_before = own_frames(before);
  const size_t own_after = own_frames(after);
  const size_t longer = std::max(own_before, own_after);
  const bool is_part = path.own == std::min(own_before, own_after);  // else a frame replaces another one
  if (is_part ? path.own * 2 < longer : path.own * 3 < longer * 2) return std::nullopt;
  const bool same_anchor = anchors_of(before).front() == anchors_of(after).front();
  if (!same_anchor && !is_part) return std::nullopt;
  for (const uint32_t function : functions_beside(before.frames, path.before)) {
    if (functions_beside(after.frames, path.after).contains(function)) return std::nullopt;
  }
  return Likeness{path.own, path.all};
}

using Groups =
    std::map<std::pair<uint32_t, uint32_t>, std::vector<const SimilarStack*>>;  // by called function and anchor

Groups groups_of(const std::vector<SimilarStack>& stacks) {
  Groups groups;
  for (const SimilarStack& stack : stacks) {
    for (const uint32_t anchor : anchors_of(stack)) groups[{stack.called, anchor}].push_back(&stack);
  }
  for (auto& [key, group] : groups) {
    std::ranges::stable_sort(group, std::greater<>(), [](const SimilarStack* stack) { return stack->weight; });
    if (group.size() > kMaxCandidates) group.resize(kMaxCandidates);
  }
  return groups;
}

}  // namespace

std::vector<std::pair<size_t, size_t>> pair_similar(const std::vector<SimilarStack>& before,
                                                    const std::vector<SimilarStack>& after) {
  std::set<std::tuple<size_t, size_t, size_t, size_t>>
      found;  // complement of the similarity, then indices: the most similar first
  const Groups groups_after = groups_of(after);
  for (const auto& [key, group] : groups_of(before)) {
    const auto others = groups_after.find(key);
    if (others == groups_after.end()) continue;
    for (const SimilarStack* one : group) {
      for (const SimilarStack* other : others->second) {
        const auto likeness = likeness_of(*one, *other);
        if (likeness) found.emplace(~likeness->own, ~likeness->all, one->index, other->index);
      }
    }
  }
  std::vector<std::pair<size_t, size_t>> pairs;
  std::set<size_t> taken_before, taken_after;
  for (const auto& [own, all, one, other] : found) {
    if (taken_before.contains(one) || taken_after.contains(other)) continue;
    taken_before.insert(one);
    taken_after.insert(other);
    pairs.emplace_back(one, other);
  }
  return pairs;
}

}  // namespace heaptap::query
