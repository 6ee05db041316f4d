#include "analysis/query/stack_matcher.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "analysis/findings/machinery.h"
#include "analysis/query/line_map.h"
#include "analysis/query/stack_similarity.h"
#include "analysis/report/path_values.h"

namespace heaptap::query {
namespace {

enum SideOf : uint8_t { kBefore, kAfter };

// Kind of a frame's token. Equal tokens are the same place in the program.
enum class TokenKind : uint8_t { kCode, kLine, kOffset, kNoModule, kUnnamed, kWithoutPartner, kCalled };
using Token = std::tuple<TokenKind, uint32_t, uint32_t, uint64_t>;

// A function and its callee: their call lines are matched with each other.
using CallKey = std::tuple<uint32_t, uint32_t, uint32_t>;  // function, file, callee

struct Lines {
  std::array<std::map<uint64_t, CallPlace>, 2> of_side;
  std::map<uint64_t, uint64_t> after_of;  // lines before to those after
};

// A frame and its callee.
using Call = uint64_t;
Call call_of(report::FrameIndex frame, uint32_t callee) { return uint64_t{frame} << 32 | callee; }

uint64_t line_of(const model::Frame& frame) { return frame.file.empty() ? frame.offset : frame.line; }

class Matcher {
 public:
  Matcher(FramePool& pool, const MatchingSide& before, const MatchingSide& after)
      : pool_(pool), sides_{&before, &after} {
    for (const uint32_t binary : before.binaries) {
      if (after.binaries.contains(binary)) shared_.insert(binary);
    }
    done_[kBefore].resize(before.stacks.size());
    done_[kAfter].resize(after.stacks.size());
  }

  Matching run() {
    collect_lines();
    map_all_lines();
    match_by_place();
    match_by_likeness();
    list_unnamed_modules();
    return std::move(matching_);
  }

 private:
  // Whether both sides have the same file of the frame, so that its offset identifies it.
  [[nodiscard]] bool is_shared(report::FrameIndex index) const { return shared_.contains(pool_.facts(index).binary); }

  [[nodiscard]] bool has_lines(report::FrameIndex index) const {
    return !is_shared(index) && pool_.facts(index).function != 0;
  }

  // What a frame is called by its caller.
  [[nodiscard]] uint32_t callee_of(report::FrameIndex index) const {
    const FrameFacts& facts = pool_.facts(index);
    return facts.function != 0 ? facts.function : facts.module;
  }

  // Calls `visit(frame, callee)` for each frame of the stack.
  template <typename Visit>
  void for_each_call(const MatchedStack& stack, const Visit& visit) {
    uint32_t callee = pool_.number_of(stack.function);
    for (const report::FrameIndex index : pool_.indices(stack.frames)) {
      visit(index, callee);
      callee = callee_of(index);
    }
  }

  // The same for all stacks of a side, with the sums of their figures: each node of the trie is visited once, not once a stack.
  template <typename Visit>
  void for_each_call_of(SideOf side, const Visit& visit) {
    const report::FrameTrie& trie = pool_.trie();
    std::vector<CallPlace> sums(trie.size());  // of the stacks through each node; without lines
    std::vector<bool> is_used(trie.size());
    for (const MatchedStack& stack : sides_[side]->stacks) {
      const CallPlace own{.allocations = stack.allocations, .allocated_bytes = stack.allocated_bytes};
      if (stack.frames.empty()) continue;
      if (stack.frames.is_cut) {
        for_each_call(stack, [&](report::FrameIndex index, uint32_t callee) { visit(index, callee, own); });
        continue;
      }
      visit(trie[stack.frames.node].frame, pool_.number_of(stack.function), own);
      add_to(sums[stack.frames.node], own);
      is_used[stack.frames.node] = true;
    }
    for (auto node = static_cast<report::NodeIndex>(trie.size() - 1); node != report::kRootNode; --node) {
      const auto [caller, frame] = trie[node];
      if (caller == report::kRootNode || !is_used[node]) continue;
      visit(trie[caller].frame, callee_of(frame), sums[node]);
      add_to(sums[caller], sums[node]);
      is_used[caller] = true;
    }
  }

  static void add_to(CallPlace& sum, const CallPlace& part) {
    sum.allocations += part.allocations;
    sum.allocated_bytes += part.allocated_bytes;
  }

  [[nodiscard]] CallKey key_of(report::FrameIndex index, uint32_t callee) const {
    const FrameFacts& facts = pool_.facts(index);
    return {facts.function, facts.file, callee};
  }

  void collect_lines() {
    for (const SideOf side : {kBefore, kAfter}) {
      boost::unordered_flat_map<Call, CallPlace> calls;
      for_each_call_of(side, [&](report::FrameIndex index, uint32_t callee, const CallPlace& sum) {
        if (has_lines(index)) add_to(calls[call_of(index, callee)], sum);
      });
      for (const auto& [call, counted] : calls) {
        const auto index = static_cast<report::FrameIndex>(call >> 32);
        const uint64_t line = line_of(pool_.frame(index));
        CallPlace& place = lines_[key_of(index, static_cast<uint32_t>(call))].of_side[side][line];
        place.line = line;
        place.allocations += counted.allocations;
        place.allocated_bytes += counted.allocated_bytes;
      }
    }
  }

  void map_all_lines() {
    for (auto& [key, lines] : lines_) {
      std::array<std::vector<CallPlace>, 2> places;
      for (const SideOf side : {kBefore, kAfter}) {
        for (const auto& [line, place] : lines.of_side[side]) places[side].push_back(place);
      }
      const auto partners = map_lines(places[kBefore], places[kAfter]);
      for (size_t i = 0; i < partners.size(); ++i) {
        if (partners[i]) lines.after_of.emplace(places[kBefore][i].line, places[kAfter][*partners[i]].line);
      }
    }
  }

  // The line after that is the frame's; empty: of a frame before that there is none.
  std::optional<uint64_t> place_of(SideOf side, report::FrameIndex index, uint32_t callee) const {
    const uint64_t line = line_of(pool_.frame(index));
    if (side == kAfter) return line;
    const auto& after_of = lines_.find(key_of(index, callee))->second.after_of;
    const auto found = after_of.find(line);
    return found == after_of.end() ? std::nullopt : std::optional(found->second);
  }

  [[nodiscard]] Token token_of(SideOf side, report::FrameIndex index, uint32_t callee) const {
    const FrameFacts& facts = pool_.facts(index);
    const model::Frame& frame = pool_.frame(index);
    if (is_shared(index)) return {TokenKind::kCode, facts.binary, 0, frame.offset};
    if (facts.module == 0 && facts.function == 0) return {TokenKind::kNoModule, 0, 0, 0};
    if (facts.function == 0 && facts.binary == 0) return {TokenKind::kOffset, facts.module, 0, frame.offset};
    // The other side's code at that offset is different.
    if (facts.function == 0) return {TokenKind::kUnnamed, side, facts.module, frame.offset};
    const auto place = place_of(side, index, callee);
    if (!place) return {TokenKind::kWithoutPartner, facts.function, facts.file, line_of(frame)};
    return {TokenKind::kLine, facts.function, facts.file, *place};
  }

  uint32_t number_of(const Token& token) {
    return tokens_.try_emplace(token, static_cast<uint32_t>(tokens_.size())).first->second;
  }

  // Callers of a frame as a node of a tree of tokens, and the frame, whose token its callee decides.
  struct Callers {
    uint32_t node = 0;
    report::FrameIndex frame = report::kNoFrame;
  };

  uint32_t step(uint32_t node, uint32_t token) {
    return nodes_.try_emplace(uint64_t{node} << 32 | token, static_cast<uint32_t>(nodes_.size() + 1)).first->second;
  }

  // The same code has the same inlined frames, if they were found.
  uint32_t step(SideOf side, const Callers& callers, uint32_t callee) {
    const report::FrameIndex index = callers.frame;
    if (index == report::kNoFrame || (is_shared(index) && pool_.frame(index).inlined)) return callers.node;
    const auto [known, is_new] = token_of_call_[side].try_emplace(call_of(index, callee), 0);
    if (is_new) known->second = number_of(token_of(side, index, callee));
    return step(callers.node, known->second);
  }

  // A stack as a node of that tree, from the outermost frame to the called function.
  uint32_t node_of(SideOf side, const MatchedStack& stack, report::PathValues<Callers>& of_path) {
    const Callers innermost = of_path(stack.frames, [&](const Callers& callers, report::FrameIndex frame) {
      return Callers{step(side, callers, callee_of(frame)), frame};
    });
    const uint32_t called = pool_.number_of(stack.function);
    return step(step(side, innermost, called), number_of({TokenKind::kCalled, called, stack.mapping ? 1 : 0, 0}));
  }

  struct PlacedStack {
    uint32_t node;
    SideOf side;
    size_t index;
    auto operator<=>(const PlacedStack&) const = default;
  };

  void match_by_place() {
    std::vector<PlacedStack> placed;
    for (const SideOf side : {kBefore, kAfter}) {
      report::PathValues<Callers> of_path(pool_.trie(), {});
      for (size_t i = 0; i < sides_[side]->stacks.size(); ++i) {
        placed.push_back({node_of(side, sides_[side]->stacks[i], of_path), side, i});
      }
    }
    std::ranges::sort(placed);
    for (size_t begin = 0, end = 0; begin < placed.size(); begin = end) {
      std::array<std::vector<size_t>, 2> group;
      for (; end < placed.size() && placed[end].node == placed[begin].node; ++end)
        group[placed[end].side].push_back(placed[end].index);
      if (group[kBefore].empty() || group[kAfter].empty()) continue;
      const bool moved = differ(group[kBefore].front(), group[kAfter].front());
      add(std::move(group[kBefore]), std::move(group[kAfter]), moved);
    }
  }

  void add(std::vector<size_t> before, std::vector<size_t> after, bool moved) {
    for (const size_t index : before) done_[kBefore][index] = true;
    for (const size_t index : after) done_[kAfter][index] = true;
    matching_.matches.push_back({std::move(before), std::move(after), moved});
  }

  // Whether the function or the line differs, as shown.
  [[nodiscard]] bool differ(size_t before, size_t after) const {
    const auto seen = [&](const MatchedStack& stack) {
      std::vector<std::pair<uint32_t, uint32_t>> calls;
      for (const report::FrameIndex index : pool_.indices(stack.frames)) {
        if (has_lines(index)) calls.emplace_back(pool_.facts(index).function, pool_.frame(index).line);
      }
      return calls;
    };
    const MatchedStack& one = sides_[kBefore]->stacks[before];
    const MatchedStack& other = sides_[kAfter]->stacks[after];
    return one.frames != other.frames && seen(one) != seen(other);
  }

  // Key for the comparison by similarity; empty: no frame is in code that differs.
  std::optional<SimilarStack> similar_of(SideOf side, size_t index) {
    const MatchedStack& stack = sides_[side]->stacks[index];
    SimilarStack similar{
        .index = index, .called = pool_.number_of(stack.function), .frames = {}, .weight = stack.allocated_bytes};
    bool differs = false;
    for_each_call(stack, [&](report::FrameIndex frame, uint32_t callee) {
      const FrameFacts& facts = pool_.facts(frame);
      const bool own = has_lines(frame) && !is_common(frame);
      differs = differs || own;
      SimilarFrame entry{.function = facts.function, .own = own, .has_line = !pool_.frame(frame).file.empty()};
      if (is_shared(frame)) {
        entry.place = {facts.binary, pool_.frame(frame).offset};
      } else if (has_lines(frame) && has_partner(side, frame, callee)) {
        entry.place = {uint64_t{facts.file} << 32, *place_of(side, frame, callee)};
      }
      similar.frames.push_back(entry);
    });
    return differs ? std::optional(std::move(similar)) : std::nullopt;
  }

  // Whether stacks of many sites have such a frame, so that it says nothing about their likeness: a container's template, an
  // allocation wrapper, startup code.
  bool is_common(report::FrameIndex index) {
    const auto [known, is_new] = common_.try_emplace(index, false);
    const model::Frame& frame = pool_.frame(index);
    if (is_new) known->second = findings::is_machinery(frame) || findings::is_startup(frame);
    return known->second;
  }

  // Whether the other side has a line that matches this one.
  [[nodiscard]] bool has_partner(SideOf side, report::FrameIndex index, uint32_t callee) const {
    const auto& after_of = lines_.find(key_of(index, callee))->second.after_of;
    const uint64_t line = line_of(pool_.frame(index));
    if (side == kBefore) return after_of.contains(line);
    return std::ranges::any_of(after_of, [line](const auto& pair) { return pair.second == line; });
  }

  void match_by_likeness() {
    std::array<std::vector<SimilarStack>, 2> rest;
    for (const SideOf side : {kBefore, kAfter}) {
      for (size_t i = 0; i < sides_[side]->stacks.size(); ++i) {
        if (done_[side][i]) continue;
        if (auto similar = similar_of(side, i)) rest[side].push_back(std::move(*similar));
      }
    }
    for (const auto& [before, after] : pair_similar(rest[kBefore], rest[kAfter])) add({before}, {after}, true);
  }

  void list_unnamed_modules() {
    std::array<std::set<std::string>, 2> names;
    for (const SideOf side : {kBefore, kAfter}) {
      report::PathValues<char> seen(pool_.trie(), 0);
      for (const MatchedStack& stack : sides_[side]->stacks) {
        seen(stack.frames, [&](char /*callers*/, report::FrameIndex index) {
          const model::Frame& frame = pool_.frame(index);
          const bool is_unnamed = !is_shared(index) && frame.function.empty() && !frame.module.empty();
          if (is_unnamed) names[side].insert(frame.module.substr(frame.module.rfind('/') + 1));
          return char{0};
        });
      }
    }
    std::ranges::set_intersection(names[kBefore], names[kAfter], std::back_inserter(matching_.unnamed_modules));
  }

  FramePool& pool_;
  std::array<const MatchingSide*, 2> sides_;
  Binaries shared_;  // modules that both sides have
  std::array<std::vector<bool>, 2> done_;
  std::map<CallKey, Lines> lines_;
  std::map<Token, uint32_t> tokens_;
  std::array<boost::unordered_flat_map<Call, uint32_t>, 2> token_of_call_;
  boost::unordered_flat_map<report::FrameIndex, bool> common_;  // of the frames asked about
  boost::unordered_flat_map<uint64_t, uint32_t> nodes_;         // by the node and the token of the next caller
  Matching matching_;
};

}  // namespace

Matching match_stacks(FramePool& pool, const MatchingSide& before, const MatchingSide& after) {
  return Matcher(pool, before, after).run();
}

}  // namespace heaptap::query
