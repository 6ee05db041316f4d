// Call stacks of a document: as nodes of its table `nodes`, or as lists of frames.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/report/frame_list.h"
#include "views/json/json_version.h"
#include "views/json/json_writer.h"

namespace heaptap::json {

// Numbers of those nodes of a report's trie that a document has, from 1; a caller's is smaller than those of what it calls.
class NodeNumbers {
 public:
  explicit NodeNumbers(const report::FrameTrie& trie) : trie_(trie) {}

  void use(report::FramePath path);
  // Once all stacks are known. Nodes that nobody uses have no number.
  void assign();

  report::NodeIndex operator[](report::NodeIndex node) const { return numbers_[node]; }
  // The nodes by number.
  [[nodiscard]] const std::vector<report::NodeIndex>& in_order() const { return order_; }

 private:
  const report::FrameTrie& trie_;
  std::vector<report::NodeIndex> numbers_;
  std::vector<report::NodeIndex> order_;
};

class JsonStacks {
 public:
  // The table must outlive this.
  JsonStacks(const report::FrameTable& frames, Version version)
      : frames_(frames), version_(version), numbers_(trie()) {}
  template <typename Stacks>
  JsonStacks(const report::FrameTable& frames, Version version, const Stacks& stacks) : JsonStacks(frames, version) {
    for (const auto& stack : stacks) announce(stack.frames);
    all_announced();
  }
  JsonStacks(const JsonStacks&) = delete;
  JsonStacks& operator=(const JsonStacks&) = delete;

  // Each stack of the report's trie that will be written, before the first one is; then all_announced(), once.
  void announce(report::FramePath path) {
    if (version_ == Version::kNodes) numbers_.use(path);
  }
  void all_announced() { numbers_.assign(); }

  // Members of an object that say what its call stack is.
  void write(JsonWriter& json, report::FramePath path) const;
  void write(JsonWriter& json, const std::vector<report::FrameIndex>& list);
  // The same of an earlier stack of the same object.
  void write_before(JsonWriter& json, report::FramePath path) const;

  // The table `nodes`, an object; after all stacks. `flush` is called now and then.
  template <typename Flush>
  void write_nodes(JsonWriter& json, const Flush& flush) const {
    const JsonObject object(json);
    write_column(
        json.key("caller"), flush, [this](report::NodeIndex node) { return numbers_[trie()[node].caller]; },
        &report::FrameNode::caller);
    write_column(
        json.key("frame"), flush, [this](report::NodeIndex node) { return trie()[node].frame; },
        &report::FrameNode::frame);
  }

  [[nodiscard]] Version version() const { return version_; }
  [[nodiscard]] const report::FrameTable& frames() const { return frames_; }

 private:
  [[nodiscard]] const report::FrameTrie& trie() const { return frames_.trie(); }
  // The node of a list, which shares its outer frames with other lists.
  report::NodeIndex node_of(const std::vector<report::FrameIndex>& list);

  // A value for each node, in order; the root, which isn't a frame, has null.
  template <typename Flush, typename OfTrie>
  void write_column(JsonWriter& json, const Flush& flush, const OfTrie& of_trie,
                    report::NodeIndex report::FrameNode::* of_list) const {
    json.begin_array();
    json.value(nullptr);
    for (const report::NodeIndex node : numbers_.in_order()) {
      json.value(of_trie(node));
      flush();
    }
    for (const report::FrameNode& node : list_nodes_) json.value(node.*of_list);
    json.end_array();
  }

  const report::FrameTable& frames_;
  Version version_;
  NodeNumbers numbers_;
  std::vector<report::FrameNode> list_nodes_;              // of lists, by number; they follow those of the trie
  std::unordered_map<uint64_t, report::NodeIndex> found_;  // by caller and frame
};

}  // namespace heaptap::json
