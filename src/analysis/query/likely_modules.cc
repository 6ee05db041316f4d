#include "analysis/query/likely_modules.h"

#include <algorithm>

#include "analysis/query/stack_index.h"

namespace heaptap::query {
namespace {

constexpr size_t kFrames = 12;
constexpr size_t kMaxStacks = 1 << 16;  // of stacks examined

// Number of stacks through each stack, itself included.
std::vector<uint32_t> count_through(const model::Tables& tables, size_t stack_count) {
  std::vector<uint32_t> counts(stack_count, 1);
  for (auto stack = static_cast<model::StackId>(stack_count); stack-- > wire::kRootCount;) {
    counts[parent_of(tables, stack)] += counts[stack];
  }
  return counts;
}

// The stack with one frame more that most stacks share; `of` itself if there is none.
model::StackId main_branch(const model::Tables& tables, const std::vector<uint32_t>& counts, model::StackId of) {
  model::StackId best = of;
  for (auto stack = static_cast<model::StackId>(wire::kRootCount); stack < counts.size(); ++stack) {
    if (parent_of(tables, stack) == of && (best == of || counts[stack] > counts[best])) best = stack;
  }
  return best;
}

}  // namespace

std::vector<model::Module> modules_of_most_stacks(const model::Tables& tables) {
  std::vector<model::Module> modules;
  const size_t stack_count = std::min(tables.stacks.size(), kMaxStacks);
  if (stack_count <= wire::kRootCount) return modules;
  const std::vector<uint32_t> counts = count_through(tables, stack_count);
  auto at = static_cast<model::StackId>(wire::StackEnd::kComplete);
  for (size_t frame = 0; frame < kFrames; ++frame) {
    const model::StackId next = main_branch(tables, counts, at);
    if (next == at || counts[next] < counts[static_cast<model::StackId>(wire::StackEnd::kComplete)] / 2) break;
    at = next;
    const model::Module* module = tables.module_of(tables.codes[tables.stacks[at].code]);
    const auto is_same = [module](const model::Module& known) {
      return known.path == module->path && known.build_id == module->build_id;
    };
    if (module != nullptr && std::none_of(modules.begin(), modules.end(), is_same)) modules.push_back(*module);
  }
  return modules;
}

}  // namespace heaptap::query
