// Holders of a block: `show leaks --why`.
#include <algorithm>
#include <charconv>
#include <tuple>

#include "analysis/leaks/holders.h"
#include "analysis/query/view_context.h"

namespace heaptap::query {
namespace {

// Maximum of steps named for a longer path: the first ones and the last ones.
constexpr size_t kMaxSteps = 32;
// Maximum of earlier scans searched for the holder of a lost block.
constexpr size_t kMaxEarlierScans = 8;

std::string text_of(const BlockQuestion& question) {
  switch (question.by) {
    case BlockQuestion::By::kAddress:
      return fmt::format("{:#x}", question.value);
    case BlockQuestion::By::kNumber:
      return fmt::format("#b{}", question.value);
    case BlockQuestion::By::kStack:
      break;
  }
  return fmt::format("#{}", question.value);
}

class HoldersView {
 public:
  explicit HoldersView(const ViewContext& context)
      : context_(context), scan_(context.judged.scan), holders_(scan_, context.query.asked.leaks.options) {}

  base::Result<report::Holders> make(const BlockQuestion& question) {
    const uint32_t block = find(question);
    if (block == model::kNoBlock) return not_there(question);
    report::Holders made;
    made.asked = text_of(question);
    made.block = name(scan_, context_.judged.counts, block);
    if (question.by == BlockQuestion::By::kAddress) made.offset = question.value - scan_.blocks[block].address;
    if (question.by == BlockQuestion::By::kStack) {
      count_stack(question.value, block, made);
      if (leaks::is_lost(context_.judged.counts.classes().states[block])) add_possible(question.value, made);
    }
    const leaks::HolderPath path = holders_.path_to(block);
    if (path.root != model::kNoBlock) {
      made.held = chain_of(scan_, context_.judged.counts, path);
    } else {
      add_loss(block, made);
    }
    return made;
  }

 private:
  [[nodiscard]] uint32_t find(const BlockQuestion& question) const {
    if (question.by == BlockQuestion::By::kAddress) return block_at(question.value);
    uint32_t best = model::kNoBlock;
    for (uint32_t i = 0; i < scan_.blocks.size(); ++i) {
      const model::ScannedBlock& block = scan_.blocks[i];
      if (question.by == BlockQuestion::By::kNumber && block.number == question.value) return i;
      if (question.by != BlockQuestion::By::kStack || context_.index.id_of(block.site) != question.value) continue;
      const auto rank = [&](uint32_t at) {
        return std::tuple(badness_of(at), scan_.blocks[at].size_bytes, ~scan_.blocks[at].number);
      };
      if (best == model::kNoBlock || rank(i) > rank(best)) best = i;
    }
    return best;
  }

  // Priority of a block for a question: definitely lost first; suppressed and ignored last.
  [[nodiscard]] unsigned badness_of(uint32_t block) const {
    const LeakCounts& counts = context_.judged.counts;
    if (counts.is_hidden(block)) return 0;
    switch (counts.classes().states[block]) {
      case leaks::BlockState::kDefinite:
        return 5;
      case leaks::BlockState::kIndirect:
        return 4;
      case leaks::BlockState::kPossible:
        return 3;
      case leaks::BlockState::kUnknown:
        return 2;
      case leaks::BlockState::kReachable:
        break;
    }
    return 1;
  }

  [[nodiscard]] uint32_t block_at(uint64_t address) const {
    const auto after =
        std::upper_bound(scan_.blocks.begin(), scan_.blocks.end(), address,
                         [](uint64_t at, const model::ScannedBlock& block) { return at < block.address; });
    // The innermost one: blocks of pools are inside other blocks.
    for (auto at = after; at != scan_.blocks.begin();) {
      const model::ScannedBlock& block = *--at;
      if (address - block.address < std::max<uint64_t>(block.size_bytes, 1)) {
        return static_cast<uint32_t>(at - scan_.blocks.begin());
      }
      if (!model::is_pooled(block.number)) break;
    }
    return model::kNoBlock;
  }

  [[nodiscard]] base::Error reason_of(const BlockQuestion& question) const {
    if (question.by == BlockQuestion::By::kAddress) return base::make_error("no live block contains this address");
    if (question.by == BlockQuestion::By::kNumber) return base::make_error("no live block has this number");
    const uint64_t stacks = context_.index.group_count();
    if (question.value - 1 < stacks) return base::make_error("no block of this stack was live");
    return base::make_error("the trace has {} stacks that allocate: #1 and on", stacks);
  }

  [[nodiscard]] std::unexpected<base::Error> not_there(const BlockQuestion& question) const {
    return base::fail_as(base::ErrorKind::kUsage,
                         "--why {}: {} (scan {}); `heaptap show blocks` lists blocks with addresses and numbers, "
                         "`heaptap show summary` stacks",
                         text_of(question), reason_of(question).message, scan_.number);
  }

  report::NamedBlock name(const model::HeapScan& scan, const LeakCounts& counts, uint32_t block) {
    return context_.blocks.block(scan, counts, block);
  }

  report::HolderChain chain_of(const model::HeapScan& scan, const LeakCounts& counts, const leaks::HolderPath& path) {
    report::HolderChain chain = steps_of(scan, counts, path.steps);
    if (path.root != model::kNoBlock) {
      chain.root = context_.blocks.root(scan.roots[path.root]);
      chain.pointer = name_of(scan.roots[path.root].kind);
    }
    return chain;
  }

  report::HolderChain steps_of(const model::HeapScan& scan, const LeakCounts& counts,
                               const std::vector<leaks::HolderStep>& steps) {
    report::HolderChain chain;
    if (steps.size() > kMaxSteps) chain.left_out = steps.size() - kMaxSteps;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (i >= kMaxSteps / 2 && i < kMaxSteps / 2 + chain.left_out) continue;
      const model::BlockPointer& pointer = scan.pointers[steps[i].pointer];
      chain.steps.push_back({.block = name(scan, counts, steps[i].block),
                             .offset = uint64_t{pointer.offset} * context_.source.capture().word_bytes,
                             .pointer = std::string(name_of(pointer.kind))});
    }
    return chain;
  }

  void count_stack(uint64_t stack, uint32_t block, report::Holders& made) {
    const uint32_t root = root_of(block);
    const unsigned badness = badness_of(block);
    for (uint32_t i = 0; i < scan_.blocks.size(); ++i) {
      if (context_.index.id_of(scan_.blocks[i].site) != stack) continue;
      made.of_stack.add_block(scan_.blocks[i].size_bytes);
      if (badness_of(i) == badness) made.of_kind.add_block(scan_.blocks[i].size_bytes);
      if (root != model::kNoBlock && root_of(i) == root) made.same_root.add_block(scan_.blocks[i].size_bytes);
    }
  }

  // The possibly lost blocks of a stack whose worst ones are lost.
  void add_possible(uint64_t stack, report::Holders& made) {
    const LeakCounts& counts = context_.judged.counts;
    report::PossiblyLost possible;
    uint32_t largest = model::kNoBlock;
    for (uint32_t i = 0; i < scan_.blocks.size(); ++i) {
      if (counts.classes().states[i] != leaks::BlockState::kPossible || counts.is_hidden(i)) continue;
      if (context_.index.id_of(scan_.blocks[i].site) != stack) continue;
      possible.count.add_block(scan_.blocks[i].size_bytes);
      if (largest == model::kNoBlock || scan_.blocks[i].size_bytes > scan_.blocks[largest].size_bytes) largest = i;
    }
    if (largest == model::kNoBlock) return;
    possible.block = name(scan_, counts, largest);
    possible.held = chain_of(scan_, counts, holders_.path_to(largest));
    made.possible = std::move(possible);
  }

  // The root pointer of the block's path. Paths share their beginnings, so a block's result is kept for others.
  uint32_t root_of(uint32_t block) {
    if (roots_.empty()) roots_.resize(scan_.blocks.size(), kUnknownRoot);
    std::vector<uint32_t> passed;
    uint32_t root = kUnknownRoot;
    while (root == kUnknownRoot) {
      if (roots_[block] != kUnknownRoot) {
        root = roots_[block];
        break;
      }
      passed.push_back(block);
      const leaks::Holders::Link link = holders_.link_of(block);
      if (link.block == model::kNoBlock) root = link.pointer;
      block = link.block;
    }
    for (const uint32_t each : passed) roots_[each] = root;
    return root;
  }

  void add_loss(uint32_t block, report::Holders& made) {
    const uint32_t leader = context_.judged.counts.classes().leaders[block];
    if (leader != model::kNoBlock && leader != block) {
      made.below = steps_of(scan_, context_.judged.counts, leaks::way_between(scan_, leader, block));
    } else if (const auto cycle = leaks::way_between(scan_, block, block); !cycle.empty()) {
      made.cycle = steps_of(scan_, context_.judged.counts, cycle);
    }
    if (model::has_event(scan_.blocks[block].number)) find_earlier(scan_.blocks[block].number, made);
  }

  // The newest scan before this one in which the block was reachable.
  void find_earlier(model::BlockNumber number, report::Holders& made) {
    const std::vector<model::ScanSummary>& scans = context_.source.scans();
    size_t tries = 0;
    for (size_t i = scans.size(); i-- > 0 && tries < kMaxEarlierScans;) {
      if (scans[i].facts.number >= scan_.number) continue;
      ++tries;
      const auto earlier = context_.source.load_scan(i);
      if (!earlier) continue;
      const auto found = std::ranges::find(earlier->blocks, number, &model::ScannedBlock::number);
      if (found == earlier->blocks.end()) return;  // not allocated yet
      const leaks::HolderPath path = leaks::Holders(*earlier, context_.query.asked.leaks.options)
                                         .path_to(static_cast<uint32_t>(found - earlier->blocks.begin()));
      if (path.root == model::kNoBlock) continue;
      const LeakCounts counts(*earlier, {.options = context_.query.asked.leaks.options});
      made.earlier = chain_of(*earlier, counts, path);
      made.earlier_scan = earlier->number;
      made.is_earlier_exit_start = earlier->reason == model::ScanReason::kExitBegins;
      return;
    }
  }

  static constexpr uint32_t kUnknownRoot = 0xfffffffe;

  const ViewContext& context_;
  const model::HeapScan& scan_;
  leaks::Holders holders_;
  std::vector<uint32_t> roots_;  // by block
};

}  // namespace

base::Result<BlockQuestion> parse_block_question(std::string_view text) {
  using enum BlockQuestion::By;
  BlockQuestion question{.by = kStack, .value = 0};
  std::string_view digits = text;
  if (digits.starts_with("#")) digits.remove_prefix(1);
  if (digits.starts_with("b")) {
    question.by = kNumber;
    digits.remove_prefix(1);
  } else if (text.starts_with("0x") || text.starts_with("0X")) {
    question.by = kAddress;
    digits.remove_prefix(2);
  }
  const char* const begin = digits.data();
  const char* const end = begin + digits.size();
  const auto [stop, error] = std::from_chars(begin, end, question.value, question.by == kAddress ? 16 : 10);
  if (error == std::errc() && stop == end) return question;
  return base::fail_as(base::ErrorKind::kUsage,
                       "'{}' is neither an address (0x7f001234), nor a block (#b12), nor a stack (#12)", text);
}

base::Result<report::Holders> holders_view(const ViewContext& context) {
  return HoldersView(context).make(*context.query.asked.leaks.why);
}

std::vector<std::optional<report::Holders>> holders_of_stacks(const ViewContext& context,
                                                              const std::vector<uint64_t>& ids) {
  HoldersView view(context);
  std::vector<std::optional<report::Holders>> made;
  for (const uint64_t id : ids) {
    auto holders = view.make({BlockQuestion::By::kStack, id});
    made.push_back(holders ? std::optional(*std::move(holders)) : std::nullopt);
  }
  return made;
}

}  // namespace heaptap::query
