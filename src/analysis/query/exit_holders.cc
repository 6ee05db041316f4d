// Variables that held lost blocks until destructors and exit handlers ran.
#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/leaks/holders.h"
#include "analysis/query/view_context.h"

namespace heaptap::query {
namespace {

// Of a stack's roots these are named; a container in an array has many.
constexpr size_t kMaxNamedRoots = 64;

// The root that leads to a block, by the shortest path from one.
uint32_t root_over(const leaks::Holders& holders, uint32_t block) {
  leaks::Holders::Link link = holders.link_of(block);
  while (link.block != model::kNoBlock) link = holders.link_of(link.block);
  return link.pointer;
}

class ExitHolders {
 public:
  ExitHolders(const ViewContext& context, const model::HeapScan& start) : context_(context), start_(start) {
    for (uint32_t i = 0; i < start.blocks.size(); ++i) numbers_.emplace_back(start.blocks[i].number, i);
    std::ranges::sort(numbers_);
  }

  void fill(report::Report& report) {
    count();
    for (report::StackEntry& stack : report.stacks) {
      const auto roots = stacks_.find(stack.id);
      if (stack.leaks && roots != stacks_.end()) fill_in(stack.leaks.edit(), roots->second);
    }
  }

 private:
  using Roots = std::map<uint32_t, report::BlockCount>;  // by index into the scan's roots

  // Lost blocks by stack and root. Variables alone count: other words that led there may have been chance.
  void count() {
    leaks::LeakOptions options = context_.query.asked.leaks.options;
    options.roots &= wire::root_bit(wire::RootKind::kGlobal);
    const leaks::Holders holders(start_, options);
    const model::HeapScan& end = context_.judged.scan;
    const LeakCounts& counts = context_.judged.counts;
    for (uint32_t i = 0; i < end.blocks.size(); ++i) {
      if (!counts.is_leak(i, /*or_possible=*/false)) continue;
      const auto known = std::ranges::lower_bound(numbers_, std::pair(end.blocks[i].number, uint32_t{0}));
      if (known == numbers_.end() || known->first != end.blocks[i].number) continue;
      const uint32_t root = root_over(holders, known->second);
      if (root == model::kNoBlock) continue;
      stacks_[context_.index.id_of(end.blocks[i].site)][root].add_block(end.blocks[i].size_bytes);
    }
  }

  void fill_in(report::StackLeaks& leaks, const Roots& roots) {
    if (auto holder = largest(roots)) leaks.exit_holder = *std::move(holder);
  }

  // None: it has no name.
  std::optional<report::ExitHolder> largest(const Roots& roots) {
    std::vector<std::pair<uint64_t, uint32_t>> sorted;
    for (const auto& [root, held] : roots) sorted.emplace_back(held.bytes, root);
    std::ranges::sort(sorted, std::greater<>());
    std::map<std::tuple<std::string, std::string, std::string, uint32_t>, report::ExitHolder> variables;
    for (size_t i = 0; i < std::min(sorted.size(), kMaxNamedRoots); ++i) {
      const report::NamedRoot& named = name(sorted[i].second);
      if (named.name.empty()) continue;
      const std::tuple key(named.module, named.name, named.file, named.line);
      variables.try_emplace(key, report::ExitHolder{named, {}}).first->second.held += roots.at(sorted[i].second);
    }
    const auto most =
        std::ranges::max_element(variables, {}, [](const auto& variable) { return variable.second.held.bytes; });
    return most == variables.end() ? std::nullopt : std::optional(most->second);
  }

  const report::NamedRoot& name(uint32_t root) {
    const auto [place, is_new] = names_.try_emplace(root);
    if (is_new) place->second = context_.blocks.root(start_.roots[root]);
    return place->second;
  }

  const ViewContext& context_;
  const model::HeapScan& start_;
  std::vector<std::pair<model::BlockNumber, uint32_t>> numbers_;  // of the blocks where exit began, with their indexes
  std::map<uint64_t, Roots> stacks_;                              // by id
  std::map<uint32_t, report::NamedRoot> names_;                   // by root
};

}  // namespace

bool has_exit_start(const model::EventSource& source, const JudgedLeaks& judged) {
  return judged.scan.reason == model::ScanReason::kEnd &&
         std::ranges::any_of(source.scans(), [](const model::ScanSummary& scan) {
           return scan.facts.reason == model::ScanReason::kExitBegins;
         });
}

void fill_exit_holders(const ViewContext& context, report::Report& report) {
  const std::vector<model::ScanSummary>& scans = context.source.scans();
  for (size_t i = 0; i < scans.size(); ++i) {
    if (scans[i].facts.reason != model::ScanReason::kExitBegins) continue;
    const auto start = context.source.load_scan(i);
    if (start) ExitHolders(context, *start).fill(report);
  }
}

}  // namespace heaptap::query
