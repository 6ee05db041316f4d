#include "analysis/stack_names.h"

#include "analysis/stack_index.h"

namespace heaptap::analysis {
namespace {

bool is_agent(const model::Frame& frame) { return frame.module.ends_with("/libheaptap_agent.so"); }

// Whether this frame is the trampoline that a signal handler returns to: the next one was interrupted.
bool is_called_by_signal(const model::Tables& tables, model::StackId stack) {
  const model::StackId outer = parent_of(tables, stack);
  return outer >= wire::kRootCount && tables.codes[tables.stacks[outer].code].exact;
}

}  // namespace

std::vector<model::Frame> StackNames::frames_of(const model::Tables& tables, model::StackId stack, uint32_t depth) {
  std::vector<model::Frame> frames;
  for (; stack >= wire::kRootCount && (depth == 0 || frames.size() < depth); stack = parent_of(tables, stack)) {
    const model::CodeId code = tables.stacks[stack].code;
    const std::vector<model::Frame>& found = resolver_.resolve(tables, tables.codes[code]);
    if (is_agent(found.front())) continue;  // a signal came while heaptap itself was at work
    frames.insert(frames.end(), found.begin(), found.end());
    if (is_called_by_signal(tables, stack)) frames.back().function = "<signal handler called>";
  }
  if (depth != 0 && frames.size() > depth) {
    frames.resize(depth);
  }
  return frames;
}

StackNames::Match StackNames::match_of(const model::Tables& tables, model::CodeId code) {
  if (const auto known = matches_.find(code); known != matches_.end()) {
    return known->second;
  }
  Match match;
  for (const model::Frame& frame : resolver_.resolve(tables, tables.codes[code])) {
    match.function = match.function || function_.matches(frame.function);
    match.module = match.module || module_.matches(frame.module);
  }
  matches_.emplace(code, match);
  return match;
}

bool StackNames::passes(const model::Tables& tables, const model::Site& site) {
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

}  // namespace heaptap::analysis
