// Call graph for Graphviz: functions weighed by the stacks through them, the heaviest only. `self` is a function's own allocations,
// `total` includes its callees'; the `self` values of all nodes sum up to the graph's `total`.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/base/units.h"
#include "views/exports/finding_writers.h"
#include "views/exports/frame_text.h"
#include "views/exports/xml_text.h"

namespace heaptap::exports {
namespace {

constexpr size_t kMaxNodes = 80;
constexpr size_t kMaxLabel = 80;  // characters of a name
const char* const kOthers = "(others)";

struct Node {
  uint64_t self = 0;
  uint64_t total = 0;
};

struct Graph {
  std::map<std::string, Node> nodes;
  std::map<std::pair<std::string, std::string>, uint64_t> edges;
  uint64_t total = 0;
};

// The allocation function and its callers, outwards. Graphviz writes names unescaped into SVG, which is XML.
std::vector<std::string> path_of(const report::Report& report, const report::StackEntry& stack) {
  std::vector<std::string> path{stack.function};
  for (const report::FrameIndex frame : report.frames.indices(stack.frames))
    path.push_back(xml_characters(name_of(report.frames[frame])));
  return path;
}

Graph graph_of(const report::Report& report, const Metric& metric) {
  Graph graph;
  for (const report::StackEntry& stack : report.stacks) {
    const uint64_t bytes = stack.is_apart() ? 0 : metric.of(stack).counted();
    if (bytes == 0) continue;
    const std::vector<std::string> path = path_of(report, stack);
    // A function that occurs twice in a stack counts once.
    for (const std::string& name : std::set<std::string>(path.begin(), path.end())) graph.nodes[name].total += bytes;
    graph.nodes[path.front()].self += bytes;
    std::set<std::pair<std::string, std::string>> calls;
    for (size_t index = 1; index < path.size(); ++index) calls.insert({path[index], path[index - 1]});
    for (const auto& call : calls) graph.edges[call] += bytes;
    graph.total += bytes;
  }
  return graph;
}

// The names of the heaviest nodes; the own allocations of all others go to one node.
std::set<std::string> keep_heaviest(Graph& graph) {
  std::vector<std::pair<uint64_t, std::string>> order;
  for (const auto& [name, node] : graph.nodes) order.emplace_back(node.total, name);
  std::ranges::sort(order, [](const auto& one, const auto& other) {
    return one.first != other.first ? one.first > other.first : one.second < other.second;
  });
  std::set<std::string> kept;
  Node others;
  for (const auto& [total, name] : order) {
    if (kept.size() < kMaxNodes)
      kept.insert(name);
    else
      others.self += graph.nodes[name].self;
  }
  if (others.self != 0) {
    others.total = others.self;
    graph.nodes[kOthers] = others;
    kept.insert(kOthers);
  }
  return kept;
}

// As a quoted string of DOT; a backslash in the name is literal.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char character : text) {
    if (character == '"' || character == '\\') result += '\\';
    result += character;
  }
  return result + "\"";
}

// Not within a UTF-8 character.
std::string shortened(const std::string& name) {
  if (name.size() <= kMaxLabel) return name;
  size_t end = kMaxLabel;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0U) == 0x80) --end;
  return name.substr(0, end) + "...";
}

std::string amount(uint64_t value, const Metric& metric) {
  return metric.bytes ? base::format_bytes(value) : base::format_count(value);
}

}  // namespace

base::Result<> write_dot(const Input& input, const report::Write& write) {
  const report::Report& report = input.report;
  const Metric& metric = input.metric;
  HEAPTAP_TRY(require(metric, report));
  Graph graph = graph_of(report, metric);
  const std::set<std::string> kept = keep_heaviest(graph);
  std::map<std::string, size_t> numbers;
  for (const std::string& name : kept) numbers.emplace(name, numbers.size());
  const std::string title =
      fmt::format("{}: {} ({})", command_of(report.capture), amount(graph.total, metric), metric.name);
  write(fmt::format("digraph heaptap {{\n  charset=\"UTF-8\";\n  label={};\n  total={};\n  node [shape=box];\n",
                    quoted(xml_characters(title)), graph.total));
  const auto share = [&](uint64_t value) {
    return graph.total == 0 ? 0.0 : static_cast<double>(value) / static_cast<double>(graph.total);
  };
  for (const std::string& name : kept) {
    const Node& node = graph.nodes[name];
    const std::string label =
        fmt::format("{}\n{} of {}", shortened(name), amount(node.self, metric), amount(node.total, metric));
    std::string text = quoted(label);
    for (size_t place = text.find('\n'); place != std::string::npos; place = text.find('\n'))
      text.replace(place, 1, "\\n");
    write(fmt::format("  n{} [label={}, tooltip={}, self={}, total={}, fontsize={:.0f}];\n", numbers[name], text,
                      quoted(shortened(name)), node.self, node.total, 10 + 14 * share(node.self)));
  }
  for (const auto& [call, bytes] : graph.edges) {
    if (!kept.contains(call.first) || !kept.contains(call.second)) continue;
    write(fmt::format("  n{} -> n{} [label={}, weight={}, penwidth={:.1f}, total={}];\n", numbers[call.first],
                      numbers[call.second], quoted(amount(bytes, metric)), 1 + static_cast<int>(99 * share(bytes)),
                      1 + 4 * share(bytes), bytes));
  }
  write("}\n");
  return {};
}

}  // namespace heaptap::exports
