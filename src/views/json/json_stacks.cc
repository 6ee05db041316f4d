#include "views/json/json_stacks.h"

namespace heaptap::json {
namespace {

// Marks of nodes that have no number yet.
constexpr report::NodeIndex kUnused = 0;
constexpr report::NodeIndex kUsed = ~report::NodeIndex{0};
constexpr report::NodeIndex kUsedToRoot = kUsed - 1;  // and so are its callers

}  // namespace

void NodeNumbers::use(report::FramePath path) {
  numbers_.resize(trie_.size());
  report::NodeIndex node = path.node;
  for (uint32_t rest = path.size; rest != 0 && numbers_[node] != kUsedToRoot; --rest) {
    if (!path.is_cut) numbers_[node] = kUsedToRoot;
    if (numbers_[node] == kUnused) numbers_[node] = kUsed;
    node = trie_[node].caller;
  }
}

void NodeNumbers::assign() {
  const auto lacks_number = [this](report::NodeIndex node) { return numbers_[node] >= kUsedToRoot; };
  std::vector<report::NodeIndex> path;
  for (report::NodeIndex each = report::kRootNode + 1; each < numbers_.size(); ++each) {
    for (report::NodeIndex node = each; lacks_number(node); node = trie_[node].caller) path.push_back(node);
    for (; !path.empty(); path.pop_back()) {
      order_.push_back(path.back());
      numbers_[path.back()] = static_cast<report::NodeIndex>(order_.size());
    }
  }
}

void JsonStacks::write(JsonWriter& json, report::FramePath path) const {
  if (version_ == Version::kLists) return json.key("frames").values(frames_.indices(path));
  json.member("node", path.empty() ? report::kRootNode : numbers_[path.node]);
  if (path.is_cut) json.member("depth", path.size);
}

void JsonStacks::write_before(JsonWriter& json, report::FramePath path) const {
  if (version_ == Version::kLists) return json.key("frames_before").values(frames_.indices(path));
  json.member("node_before", path.empty() ? report::kRootNode : numbers_[path.node]);
  if (path.is_cut) json.member("depth_before", path.size);
}

void JsonStacks::write(JsonWriter& json, const std::vector<report::FrameIndex>& list) {
  if (version_ == Version::kLists) return json.key("frames").values(list);
  json.member("node", node_of(list));
}

report::NodeIndex JsonStacks::node_of(const std::vector<report::FrameIndex>& list) {
  report::NodeIndex node = report::kRootNode;
  for (auto frame = list.rbegin(); frame != list.rend(); ++frame) {
    const auto next = static_cast<report::NodeIndex>(numbers_.in_order().size() + list_nodes_.size() + 1);
    const auto [found, is_new] = found_.try_emplace(uint64_t{node} << 32 | *frame, next);
    if (is_new) list_nodes_.push_back({node, *frame});
    node = found->second;
  }
  return node;
}

}  // namespace heaptap::json
