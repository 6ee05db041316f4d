// Graph of pointers between stacks, and holders of the most significant stacks.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/query/activity_view.h"

namespace heaptap::query {
namespace {

// The stacks with the most bytes in the scan, at most `limit`: their rows in ascending order.
std::vector<uint32_t> largest_stacks(const std::vector<report::BlockCount>& sums, size_t limit) {
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < sums.size(); ++row) {
    if (sums[row].blocks != 0) rows.push_back(row);
  }
  const size_t kept = std::min(limit, rows.size());
  std::partial_sort(
      rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(kept), rows.end(),
      [&](uint32_t a, uint32_t b) { return sums[a].bytes != sums[b].bytes ? sums[a].bytes > sums[b].bytes : a < b; });
  rows.resize(kept);
  std::ranges::sort(rows);
  return rows;
}

}  // namespace

report::StackGraph stack_graph_view(const ViewContext& context, const StackRows& rows, size_t limit) {
  const model::HeapScan& scan = context.judged.scan;
  std::vector<report::BlockCount> sums(rows.count());
  for (const model::ScannedBlock& block : scan.blocks) {
    const uint32_t row = rows.of(block.site);
    if (row != StackRows::kNoRow) sums[row].add_block(block.size_bytes);
  }
  // A third of the nodes is reserved for roots.
  const std::vector<uint32_t> stacks = largest_stacks(sums, limit - limit / 3);
  report::StackGraph graph;
  std::vector<uint32_t> nodes(rows.count(), StackRows::kNoRow);
  for (const uint32_t row : stacks) {
    nodes[row] = static_cast<uint32_t>(graph.nodes.size());
    graph.nodes.push_back({.root = {}, .stack = row, .blocks = sums[row]});
  }
  graph.left_out = static_cast<uint64_t>(std::ranges::count_if(sums, [](const auto& sum) { return sum.blocks != 0; })) -
                   stacks.size();
  const auto node_of = [&](uint32_t block) {
    const uint32_t row = rows.of(scan.blocks[block].site);
    return row == StackRows::kNoRow ? StackRows::kNoRow : nodes[row];
  };
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> edges;
  for (uint32_t block = 0; block < scan.blocks.size(); ++block) {
    const uint32_t from = node_of(block);
    if (from == StackRows::kNoRow) continue;
    for (uint32_t i = scan.pointers_begin[block]; i < scan.pointers_begin[block + 1]; ++i) {
      const uint32_t to = node_of(scan.pointers[i].to);
      if (to != StackRows::kNoRow && to != from) ++edges[{from, to}];
    }
  }
  // Words of one variable, one thread's stack or registers are one root.
  std::map<std::tuple<std::string, std::string, uint64_t, uint32_t>, uint32_t> roots;
  for (const model::RootPointer& root : scan.roots) {
    const uint32_t to = node_of(root.to);
    if (to == StackRows::kNoRow || !context.query.asked.leaks.options.is_root(root.root)) continue;
    report::NamedRoot named = context.blocks.root(root);
    const uint64_t place = named.name.empty() && named.thread == 0 ? named.address : 0;
    const auto [known, is_new] =
        roots.try_emplace({named.kind, named.name, place, named.thread}, static_cast<uint32_t>(graph.nodes.size()));
    if (is_new && graph.nodes.size() >= limit) {
      roots.erase(known);
      continue;
    }
    if (is_new) graph.nodes.push_back({.root = std::move(named), .stack = 0, .blocks = {}});
    ++edges[{known->second, to}];
  }
  for (const auto& [ends, count] : edges) graph.edges.push_back({ends.first, ends.second, count});
  return graph;
}

std::vector<report::StackHolders> stack_holders_view(const ViewContext& context, const report::Report& report,
                                                     size_t limit) {
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < report.stacks.size(); ++row) {
    const report::StackEntry& stack = report.stacks[row];
    if (!stack.is_apart() && stack.leaks && stack.live_blocks.counted() != 0) rows.push_back(row);
  }
  const auto weight = [&](uint32_t row) {
    const report::StackLeaks& leaks = *report.stacks[row].leaks;
    return std::tuple(leaks.lost().bytes, leaks.reachable.bytes, ~row);
  };
  std::ranges::sort(rows, std::ranges::greater(), weight);
  if (rows.size() > limit) rows.resize(limit);
  std::vector<uint64_t> ids;
  for (const uint32_t row : rows) ids.push_back(report.stacks[row].id);
  std::vector<report::StackHolders> made;
  auto holders = holders_of_stacks(context, ids);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (holders[i]) made.push_back({rows[i], *std::move(holders[i])});
  }
  return made;
}

}  // namespace heaptap::query
