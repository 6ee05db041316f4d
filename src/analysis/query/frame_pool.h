// Frame table shared by several reports, each frame once, with numeric keys for comparisons.
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/node_merger.h"
#include "analysis/report/report.h"

namespace heaptap::query {

// Interned texts: numbers from 1; 0: the empty text.
class TextNumbers {
 public:
  uint32_t operator()(std::string_view text);

 private:
  boost::unordered_flat_map<std::string, uint32_t> numbers_;
};

// Function name without parts that differ between builds of the same source: "[clone .isra.0]", ".part.0", parameters.
std::string_view plain_name(std::string_view function);

struct FrameFacts {
  uint32_t binary = 0;    // of its module's build-id; 0: none
  uint32_t module = 0;    // number of its module's file name
  uint32_t function = 0;  // number of its plain name
  uint32_t file = 0;      // number of its source file's name, without directories
};

using Binaries = boost::unordered_flat_set<uint32_t>;

class FramePool {
 public:
  // Adds a report's frames and stacks. Returns the pool's node for each of the report's.
  std::vector<report::NodeIndex> add(const report::Report& report);
  // Numbers of the build-ids in the report's process.
  Binaries binaries_of(const report::Report& report);

  [[nodiscard]] const model::Frame& frame(report::FrameIndex index) const { return frames_[index]; }
  [[nodiscard]] const FrameFacts& facts(report::FrameIndex index) const { return facts_[index]; }
  uint32_t number_of(std::string_view text) { return texts_(text); }
  [[nodiscard]] const report::FrameTrie& trie() const { return trie_; }
  [[nodiscard]] report::FrameIndices indices(report::FramePath path) const { return trie_.indices(path); }
  report::FrameTable take() { return {std::move(frames_), std::move(trie_)}; }

 private:
  TextNumbers texts_;
  std::vector<model::Frame> frames_;
  std::vector<FrameFacts> facts_;
  report::FrameTrie trie_;
  report::NodeMerger nodes_{trie_};
  boost::unordered_flat_map<std::string, report::FrameIndex> places_;
};

}  // namespace heaptap::query
