#include "analysis/query/stack_names.h"

#include <utility>

#include "analysis/findings/telling_frame.h"
#include "analysis/query/stack_index.h"

namespace heaptap::query {
namespace {

// Maximum of frames searched for the most informative one.

constexpr const char* kSignalHandler = "<signal handler called>";

bool is_agent(const model::Frame& frame) { return frame.module.ends_with("/libheaptap_agent.so"); }

// Whether this frame is a signal handler's return trampoline: the next one was interrupted.
bool is_called_by_signal(const model::Tables& tables, model::StackId stack) {
  const model::StackId outer = parent_of(tables, stack);
  if (outer < wire::kRootCount) return false;
  const model::Code& code = tables.codes[tables.stacks[outer].code];
  return code.exact && !model::is_named(code);
}

}  // namespace

std::vector<model::Frame> StackNames::frames_of(const model::Tables& tables, model::StackId stack, uint32_t depth) {
  std::vector<model::Frame> frames;
  for (; stack >= wire::kRootCount && (depth == 0 || frames.size() < depth); stack = parent_of(tables, stack)) {
    const CodeFrames found = frames_at(tables, stack);
    if (found.frames == nullptr) continue;
    frames.insert(frames.end(), found.frames->begin(), found.frames->end());
    if (found.is_called_by_signal) frames.back().function = kSignalHandler;
  }
  if (depth != 0 && frames.size() > depth) {
    frames.resize(depth);
  }
  return frames;
}

StackNames::CodeNames StackNames::names_in(const std::vector<model::Frame>& frames) {
  return {&frames, is_agent(frames.front()), frames.front().of_interpreter};
}

StackNames::CodeNames StackNames::names_of_code(const model::Tables& tables, model::CodeId code) {
  if (code >= of_code_.size()) of_code_.resize(tables.codes.size());
  CodeNames& known = of_code_[code];
  if (known.frames != nullptr) return known;
  const std::vector<model::Frame>& found = find_frames(tables, code);
  const bool is_final = tables.names == nullptr && !found.front().module.empty();  // else a name may come yet
  const CodeNames names = names_in(found);
  if (is_final) known = names;
  return names;
}

const std::vector<model::Frame>& StackNames::find_frames(const model::Tables& tables, model::CodeId code) {
  if (model::is_named(tables.codes[code])) {
    const auto [found, is_new] = brought_.try_emplace(code);
    if (is_new) found->second.push_back(tables.named_frame(tables.codes[code]));
    return found->second;
  }
  if (tables.names == nullptr) return resolver_.resolve(tables, tables.codes[code]);
  const auto [found, is_new] = brought_.try_emplace(code);
  // JIT names are added during the recording, and only for a part of the code.
  if (is_new || found->second.empty()) found->second = tables.names->frames_of(code);
  if (found->second.empty()) return resolver_.resolve(tables, tables.codes[code]);
  return found->second;
}

StackNames::CodeFrames StackNames::frames_at(const model::Tables& tables, model::StackId stack) {
  const CodeNames found = names_of_code(tables, tables.stacks[stack].code);
  if (found.is_agent) return {};  // a signal interrupted the agent
  return {found.frames, is_called_by_signal(tables, stack), found.of_interpreter};
}

// Callers have smaller numbers.
bool StackNames::is_called_by_program(const model::Tables& tables, model::StackId stack) {
  for (size_t next = called_by_program_.size(); next < tables.stacks.size(); ++next) {
    const model::StackId outer = next < wire::kRootCount ? 0 : parent_of(tables, static_cast<model::StackId>(next));
    called_by_program_.push_back(
        outer >= wire::kRootCount &&
        (called_by_program_[outer] || model::is_named(tables.codes[tables.stacks[outer].code])));
  }
  return called_by_program_[stack];
}

StackNames::CodeFrames StackNames::listed_at(const model::Tables& tables, model::StackId stack) {
  const CodeFrames found = frames_at(tables, stack);
  if (found.of_interpreter && !lists_interpreter_ && is_called_by_program(tables, stack)) return {};
  return found;
}

report::FrameIndex StackNames::list_code(const model::Tables& tables, model::StackId stack, const CodeFrames& found) {
  const model::CodeId code = tables.stacks[stack].code;
  if (code >= places_.size()) places_.resize(tables.codes.size(), {report::kNoFrame, report::kNoFrame});
  report::FrameIndex& place = places_[code][found.is_called_by_signal ? 1 : 0];
  if (place == report::kNoFrame) {
    place = static_cast<report::FrameIndex>(listed_.size());
    listed_.insert(listed_.end(), found.frames->begin(), found.frames->end());
    if (found.is_called_by_signal) listed_.back().function = kSignalHandler;
  }
  return place;
}

report::NodeIndex StackNames::node_for(model::StackId stack) {
  report::NodeIndex& node = nodes_[stack].node;
  if (node == report::kRootNode) node = trie_.reserve();
  return node;
}

// Of a stack with its caller's node: the nodes of its frames, the innermost one's last.
report::NodeIndex StackNames::list_step(const Step& step, report::NodeIndex caller) {
  const report::NodeIndex node = node_for(step.stack);
  if (trie_[node].frame != report::kNoFrame) return node;
  for (report::FrameIndex frame = step.first + step.count - 1; frame != step.first; --frame) {
    caller = trie_.add(caller, frame);
  }
  trie_.set(node, {caller, step.first});
  return node;
}

// Where a list is cut: the node of the next stack outwards, without its name.
report::NodeIndex StackNames::caller_beyond(const model::Tables& tables, model::StackId stack) {
  for (stack = parent_of(tables, stack); stack >= wire::kRootCount; stack = parent_of(tables, stack)) {
    if (listed_at(tables, stack).frames != nullptr) return node_for(stack);
  }
  return report::kRootNode;
}

report::FramePath StackNames::list_path(const model::Tables& tables, model::StackId stack, uint32_t depth) {
  if (nodes_.size() < tables.stacks.size()) nodes_.resize(tables.stacks.size());
  std::vector<Step>& steps = steps_;
  steps.clear();
  uint32_t size = 0;
  report::NodeIndex node = report::kRootNode;
  uint32_t below = 0;  // frames of the known part
  bool is_whole = true;
  for (; stack >= wire::kRootCount; stack = parent_of(tables, stack)) {
    if (const Listed& known = nodes_[stack]; known.depth != 0) {
      node = known.node;
      below = known.depth;
      break;
    }
    const CodeFrames found = listed_at(tables, stack);
    if (found.frames == nullptr) continue;
    const auto count = static_cast<uint32_t>(found.frames->size());
    steps.push_back({stack, list_code(tables, stack, found), count});
    size += count;
    if (depth == 0 || size < depth) continue;
    node = caller_beyond(tables, stack);
    is_whole = node == report::kRootNode;
    break;
  }
  const uint32_t all = size + below;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    node = list_step(*step, node);
    below += step->count;
    if (is_whole) nodes_[step->stack].depth = below;
  }
  return report::FramePath{node, all, !is_whole}.cut(depth == 0 ? all : depth);
}

std::vector<report::FrameIndex> StackNames::list_frames(const model::Tables& tables, model::StackId stack,
                                                        uint32_t depth) {
  const report::FrameIndices indices = trie_.indices(list_path(tables, stack, depth));
  return {indices.begin(), indices.end()};
}

report::FrameList StackNames::listed(report::FramePath path) const {
  const report::FrameIndices indices = trie_.indices(path);
  return {listed_, {indices.begin(), indices.end()}};
}

model::Frame StackNames::telling_frame(const model::Tables& tables, model::StackId stack) {
  const std::vector<model::Frame> frames = frames_of(tables, stack, kTellingFrames);
  const model::Frame* const telling = findings::telling_frame(report::FrameList(frames), skipped_);
  return telling == nullptr ? model::Frame{} : *telling;
}

report::FrameIndex StackNames::list_telling_frame(const model::Tables& tables, model::StackId stack) {
  const auto [known, is_new] = telling_.try_emplace(stack, report::kNoFrame);
  if (!is_new) return known->second;
  const std::vector<model::Frame> frames = frames_of(tables, stack, kTellingFrames);
  size_t place = findings::telling_place(report::FrameList(frames), skipped_);
  for (; stack >= wire::kRootCount; stack = parent_of(tables, stack)) {
    const CodeFrames found = frames_at(tables, stack);
    if (found.frames == nullptr) continue;
    if (place < found.frames->size()) {
      return known->second = list_code(tables, stack, found) + static_cast<report::FrameIndex>(place);
    }
    place -= found.frames->size();
  }
  return report::kNoFrame;
}

report::FrameTable StackNames::take_listed() {
  places_.clear();
  telling_.clear();
  nodes_.clear();
  return {std::exchange(listed_, {}), std::exchange(trie_, {})};
}

StackNames::Match StackNames::match_of(const model::Tables& tables, model::CodeId code) {
  if (const auto known = matches_.find(code); known != matches_.end()) {
    return known->second;
  }
  Match match;
  for (const model::Frame& frame : *names_of_code(tables, code).frames) {
    match.function = match.function || function_.matches(frame.function);
    match.module = match.module || module_.matches(frame.module);
  }
  matches_.emplace(code, match);
  return match;
}

bool StackNames::passes(const model::Tables& tables, const model::Site& site) {
  if (!tags_.passes(tables, site.label)) return false;
  bool function = function_.empty() || function_.matches(wire::facts_of(site.function).name);
  bool module = module_.empty();
  for (const model::CodeId code : codes_of(tables, site.stack)) {
    if (function && module) {
      break;
    }
    const Match match = match_of(tables, code);
    function = function || match.function;
    module = module || match.module;
  }
  return function && module;
}

}  // namespace heaptap::query
