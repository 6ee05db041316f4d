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

  // Calls `visit(frame, callee)` for each frame of the stack.
  template <typename Visit>
  void for_each_call(const MatchedStack& stack, const Visit& visit) {
    uint32_t callee = pool_.number_of(stack.function);
    for (const report::FrameIndex index : *stack.frames) {
      visit(index, callee);
      const FrameFacts& facts = pool_.facts(index);
      callee = facts.function != 0 ? facts.function : facts.module;
    }
  }

  [[nodiscard]] CallKey key_of(report::FrameIndex index, uint32_t callee) const {
    const FrameFacts& facts = pool_.facts(index);
    return {facts.function, facts.file, callee};
  }

  void collect_lines() {
    for (const SideOf side : {kBefore, kAfter}) {
      boost::unordered_flat_map<Call, CallPlace> calls;
      for (const MatchedStack& stack : sides_[side]->stacks) {
        for_each_call(stack, [&](report::FrameIndex index, uint32_t callee) {
          if (!has_lines(index)) return;
          CallPlace& place = calls[call_of(index, callee)];
          place.allocations += stack.allocations;
          place.allocated_bytes += stack.allocated_bytes;
        });
      }
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

  // The stack as a node of a tree of tokens. The same code has the same inlined frames, if they were found.
  uint32_t node_of(SideOf side, const MatchedStack& stack) {
    uint32_t node = 0;
    const auto step = [&](uint32_t token) {
      node = nodes_.try_emplace(uint64_t{node} << 32 | token, static_cast<uint32_t>(nodes_.size() + 1)).first->second;
    };
    step(number_of({TokenKind::kCalled, pool_.number_of(stack.function), stack.mapping ? 1 : 0, 0}));
    for_each_call(stack, [&](report::FrameIndex index, uint32_t callee) {
      if (is_shared(index) && pool_.frame(index).inlined) return;
      const auto [known, is_new] = token_of_call_[side].try_emplace(call_of(index, callee), 0);
      if (is_new) known->second = number_of(token_of(side, index, callee));
      step(known->second);
    });
    return node;
  }

  void match_by_place() {
    std::map<uint32_t, std::array<std::vector<size_t>, 2>> groups;
    for (const SideOf side : {kBefore, kAfter}) {
      for (size_t i = 0; i < sides_[side]->stacks.size(); ++i) {
        groups[node_of(side, sides_[side]->stacks[i])][side].push_back(i);
      }
    }
    for (auto& [node, group] : groups) {
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
      for (const report::FrameIndex index : *stack.frames) {
        if (has_lines(index)) calls.emplace_back(pool_.facts(index).function, pool_.frame(index).line);
      }
      return calls;
    };
    return seen(sides_[kBefore]->stacks[before]) != seen(sides_[kAfter]->stacks[after]);
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
      for (const MatchedStack& stack : sides_[side]->stacks) {
        for (const report::FrameIndex index : *stack.frames) {
          const model::Frame& frame = pool_.frame(index);
          const bool is_unnamed = !is_shared(index) && frame.function.empty() && !frame.module.empty();
          if (is_unnamed) names[side].insert(frame.module.substr(frame.module.rfind('/') + 1));
        }
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
