#include "views/json/json_stacks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace heaptap::json {
namespace {

using report::FrameIndex;
using report::FramePath;
using report::NodeIndex;

// A document of these stacks, and then of these lists.
nlohmann::json written(const report::FrameTable& frames, Version version, const std::vector<FramePath>& paths,
                       const std::vector<std::vector<FrameIndex>>& lists = {}) {
  JsonStacks stacks(frames, version);
  for (const FramePath& path : paths) stacks.announce(path);
  stacks.all_announced();
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.key("stacks").begin_array();
  for (const FramePath& path : paths) {
    const JsonObject object(json);
    stacks.write(json, path);
  }
  for (const std::vector<FrameIndex>& list : lists) {
    const JsonObject object(json);
    stacks.write(json, list);
  }
  json.end_array();
  if (version == Version::kNodes) stacks.write_nodes(json.key("nodes"), [] {});
  json.end_object();
  return nlohmann::json::parse(text);
}

// As docs/json.md says that it is read.
std::vector<FrameIndex> frames_of(const nlohmann::json& document, const nlohmann::json& stack) {
  std::vector<FrameIndex> frames;
  const size_t most = stack.value("depth", size_t{1} << 30);
  for (size_t node = stack["node"]; node != 0 && frames.size() < most; node = document["nodes"]["caller"][node])
    frames.push_back(document["nodes"]["frame"][node]);
  return frames;
}

TEST(JsonStacks, AreNodesOfOneTable) {
  report::FrameTable frames;
  report::FrameTrie& trie = frames.trie();
  const NodeIndex main = trie.add(report::kRootNode, 7);
  const NodeIndex unused = trie.add(main, 3);
  const NodeIndex parse = trie.add(main, 5);
  const NodeIndex load = trie.add(parse, 5);
  const auto document = written(frames, Version::kNodes, {{load, 3}, {parse, 2}, {}});
  EXPECT_EQ(document, nlohmann::json::parse(R"({"stacks": [{"node": 3}, {"node": 2}, {"node": 0}],
      "nodes": {"caller": [null, 0, 1, 2], "frame": [null, 7, 5, 5]}})"));
  EXPECT_EQ(written(frames, Version::kLists, {{load, 3}, {unused, 2}, {}}),
            nlohmann::json::parse(R"({"stacks": [{"frames": [5, 5, 7]}, {"frames": [3, 7]}, {"frames": []}]})"));
}

TEST(JsonStacks, HaveADepthWhereTheyAreCut) {
  report::FrameTable frames;
  report::FrameTrie& trie = frames.trie();
  const NodeIndex inner = trie.reserve();
  const NodeIndex outer = trie.reserve();
  trie.set(inner, {outer, 1});
  // Nobody shows the caller.
  EXPECT_EQ(written(frames, Version::kNodes, {{inner, 1, true}}),
            nlohmann::json::parse(R"({"stacks": [{"node": 1, "depth": 1}],
                "nodes": {"caller": [null, 0], "frame": [null, 1]}})"));
  // Another stack shows it: then it comes first.
  trie.set(outer, {report::kRootNode, 2});
  EXPECT_EQ(written(frames, Version::kNodes, {{inner, 1, true}, {outer, 1}}),
            nlohmann::json::parse(R"({"stacks": [{"node": 2, "depth": 1}, {"node": 1}],
                "nodes": {"caller": [null, 0, 1], "frame": [null, 2, 1]}})"));
}

TEST(JsonStacks, ListsOfFramesShareOuterNodesThatFollowThoseOfTheTrie) {
  report::FrameTable frames;
  const FramePath path = frames.add({4, 9});
  const auto document = written(frames, Version::kNodes, {path}, {{1, 2, 3}, {5, 2, 3}, {1, 2, 3}, {}});
  EXPECT_EQ(document["nodes"]["caller"], nlohmann::json({nullptr, 0, 1, 0, 3, 4, 4}));
  EXPECT_EQ(document["nodes"]["frame"], nlohmann::json({nullptr, 9, 4, 3, 2, 1, 5}));
  const auto& stacks = document["stacks"];
  EXPECT_EQ(frames_of(document, stacks[1]), (std::vector<FrameIndex>{1, 2, 3}));
  EXPECT_EQ(frames_of(document, stacks[2]), (std::vector<FrameIndex>{5, 2, 3}));
  EXPECT_EQ(stacks[1], stacks[3]);
  EXPECT_EQ(stacks[4]["node"], 0);
}

TEST(JsonStacks, AreTheSameFramesInBothVersions) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    report::FrameTable frames;
    report::FrameTrie& trie = frames.trie();
    std::vector<uint32_t> depths(1);
    for (int count = 0; count < 40; ++count) trie.reserve();
    // A caller may have a larger number than what it calls.
    std::vector<NodeIndex> shuffled;
    for (NodeIndex node = 1; node < trie.size(); ++node) shuffled.push_back(node);
    std::ranges::shuffle(shuffled, random);
    depths.resize(trie.size());
    for (size_t place = 0; place < shuffled.size(); ++place) {
      const NodeIndex caller = place == 0 || random() % 8 == 0 ? report::kRootNode : shuffled[random() % place];
      trie.set(shuffled[place], {caller, static_cast<FrameIndex>(random() % 9)});
      depths[shuffled[place]] = depths[caller] + 1;
    }
    std::vector<FramePath> paths;
    for (int count = 0; count < 12; ++count) {
      const NodeIndex node = shuffled[random() % shuffled.size()];
      const FramePath whole{node, depths[node]};
      paths.push_back(random() % 2 == 0 ? whole : whole.cut(1 + static_cast<uint32_t>(random() % depths[node])));
    }
    const auto document = written(frames, Version::kNodes, paths);
    const auto lists = written(frames, Version::kLists, paths);
    for (size_t place = 0; place < paths.size(); ++place) {
      EXPECT_EQ(nlohmann::json(frames_of(document, document["stacks"][place])), lists["stacks"][place]["frames"]);
      EXPECT_EQ(document["stacks"][place].contains("depth"), paths[place].is_cut);
    }
    const auto& callers = document["nodes"]["caller"];
    for (size_t node = 1; node < callers.size(); ++node) EXPECT_LT(callers[node], node);
  }
}

}  // namespace
}  // namespace heaptap::json
