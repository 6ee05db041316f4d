#include "host/analysis/stack_names.h"

#include "host/analysis/stack_index.h"

namespace heaptap::analysis {

std::vector<symbols::Frame> StackNames::frames_of(const model::Tables& tables, model::StackId stack, uint32_t depth) {
  std::vector<symbols::Frame> frames;
  for (const model::CodeId code : codes_of(tables, stack)) {
    if (depth != 0 && frames.size() >= depth) {
      break;
    }
    const std::vector<symbols::Frame>& found = resolver_.resolve(tables, tables.codes[code]);
    frames.insert(frames.end(), found.begin(), found.end());
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
  for (const symbols::Frame& frame : resolver_.resolve(tables, tables.codes[code])) {
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
