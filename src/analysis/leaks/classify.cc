#include "analysis/leaks/classify.h"

#include <algorithm>
#include <span>

#include "analysis/leaks/reach.h"

namespace heaptap::leaks {
namespace {

// Classification in progress. Initial state: kDefinite, not reached.
class Classifier {
 public:
  Classifier(const model::HeapScan& scan, const LeakOptions& options) : scan_(scan), options_(options) {}

  std::vector<BlockState> reach() {
    result_.states.assign(scan_.blocks.size(), BlockState::kDefinite);
    mark_unknown(model::BlockLife::kFree);
    mark_reachable();
    mark_possible();
    mark_unknown(model::BlockLife::kUnknown);
    return std::move(result_.states);
  }

  Classification run(std::vector<BlockState> reached) {
    result_.states = std::move(reached);
    result_.leaders.assign(scan_.blocks.size(), model::kNoBlock);
    mark_held();
    const std::vector<uint32_t> lost = lost_by_number();
    const std::vector<uint32_t> starts = search_starts(lost);
    std::fill(result_.leaders.begin(), result_.leaders.end(), model::kNoBlock);
    const std::vector<uint32_t> leaders = leaders_among(starts);
    std::fill(result_.leaders.begin(), result_.leaders.end(), model::kNoBlock);
    for (const uint32_t leader : leaders) group(leader);
    add_up();
    return std::move(result_);
  }

 private:
  bool take(uint32_t block, BlockState state) {
    if (result_.states[block] != BlockState::kDefinite) return false;
    result_.states[block] = state;
    return true;
  }

  // A header is told from chance by the other blocks of its stack. Of blocks from before the recording no stack is known: what
  // points into one of them may be a pointer behind its header.
  [[nodiscard]] bool is_certain(wire::PointerKind kind, uint32_t to) const {
    const bool may_be_header = kind == wire::PointerKind::kInterior && model::is_earlier(scan_.blocks[to].number);
    return options_.is_certain(may_be_header ? wire::PointerKind::kHeader : kind);
  }

  // Only blocks that nothing has reached so far.
  void mark_unknown(model::BlockLife life) {
    for (uint32_t i = 0; i < scan_.lives.size(); ++i) {
      if (scan_.lives[i] == life) take(i, BlockState::kUnknown);
    }
  }

  void mark_reachable() {
    std::vector<uint32_t> queue;
    for (const model::RootPointer& root : scan_.roots) {
      if (!options_.is_root(root.root) || !options_.counts(root.kind)) continue;
      if (!is_certain(root.kind, root.to)) {
        uncertain_.push_back(root.to);
      } else if (take(root.to, BlockState::kReachable)) {
        queue.push_back(root.to);
      }
    }
    spread(scan_, result_.states, queue, [this](uint32_t, uint32_t index) {
      const model::BlockPointer& pointer = scan_.pointers[index];
      if (!options_.counts(pointer.kind)) return false;
      if (is_certain(pointer.kind, pointer.to)) return take(pointer.to, BlockState::kReachable);
      if (result_.states[pointer.to] == BlockState::kDefinite) uncertain_.push_back(pointer.to);
      return false;
    });
  }

  void mark_possible() {
    std::vector<uint32_t> queue;
    for (const uint32_t block : uncertain_) {
      if (take(block, BlockState::kPossible)) queue.push_back(block);
    }
    uncertain_ = {};
    spread(scan_, result_.states, queue, [this](uint32_t, uint32_t index) {
      const model::BlockPointer& pointer = scan_.pointers[index];
      return options_.counts(pointer.kind) && take(pointer.to, BlockState::kPossible);
    });
  }

  void mark_held() {
    if (options_.held_sites.empty()) return;
    for (size_t i = 0; i < scan_.blocks.size(); ++i) {
      const bool is_free = !scan_.lives.empty() && scan_.lives[i] == model::BlockLife::kFree;
      if (options_.holds(scan_.blocks[i].site) && !is_free) result_.states[i] = BlockState::kReachable;
    }
  }

  [[nodiscard]] std::vector<uint32_t> lost_by_number() const {
    std::vector<uint32_t> lost;
    for (uint32_t i = 0; i < scan_.blocks.size(); ++i) {
      if (result_.states[i] == BlockState::kDefinite) lost.push_back(i);
    }
    std::sort(lost.begin(), lost.end(), [this](uint32_t a, uint32_t b) {
      const model::BlockNumber left = scan_.blocks[a].number;
      const model::BlockNumber right = scan_.blocks[b].number;
      return left != right ? left < right : a < b;
    });
    return lost;
  }

  // Assigns blocks reachable from `leader` to it, unless they have a leader. Among lost blocks all kinds of pointers
  // count.
  void follow(uint32_t leader, std::vector<uint32_t>& queue) {
    result_.leaders[leader] = leader;
    queue.assign(1, leader);
    spread(scan_, result_.leaders, queue, [this, leader](uint32_t, uint32_t index) {
      const uint32_t to = scan_.pointers[index].to;
      if (!is_lost(result_.states[to]) || result_.leaders[to] != model::kNoBlock) return false;
      result_.leaders[to] = leader;
      return true;
    });
  }

  // Leader of a group: the first block of a cycle (or a single block) that no other lost block points to. Found by two
  // searches: the first block of such a cycle can't be reached from an earlier block, so it is one of the starts here;
  // the last start that can't be reached from a later leader is the leader of such a cycle.
  std::vector<uint32_t> search_starts(const std::vector<uint32_t>& lost) {
    std::vector<uint32_t> starts;
    std::vector<uint32_t> queue;
    for (const uint32_t block : lost) {
      if (result_.leaders[block] != model::kNoBlock) continue;
      starts.push_back(block);
      follow(block, queue);
    }
    return starts;
  }

  std::vector<uint32_t> leaders_among(const std::vector<uint32_t>& starts) {
    std::vector<uint32_t> leaders;
    std::vector<uint32_t> queue;
    for (size_t i = starts.size(); i-- > 0;) {
      if (result_.leaders[starts[i]] != model::kNoBlock) continue;
      leaders.push_back(starts[i]);
      follow(starts[i], queue);
    }
    std::reverse(leaders.begin(), leaders.end());
    return leaders;
  }

  void group(uint32_t leader) {
    std::vector<uint32_t>& members = members_;
    follow(leader, members);
    LostGroup made{.leader = leader, .indirect = {.blocks = members.size() - 1}};
    for (const uint32_t member : std::span(members).subspan(1)) {
      result_.states[member] = BlockState::kIndirect;
      made.indirect.bytes += scan_.blocks[member].size_bytes;
    }
    result_.groups.push_back(made);
  }

  void add_up() {
    for (size_t i = 0; i < scan_.blocks.size(); ++i) {
      BlockTotal& total = result_.totals[static_cast<size_t>(result_.states[i])];
      ++total.blocks;
      total.bytes += scan_.blocks[i].size_bytes;
    }
  }

  const model::HeapScan& scan_;
  LeakOptions options_;
  Classification result_;
  std::vector<uint32_t> uncertain_;  // blocks with uncertain pointers from roots or reachable blocks
  std::vector<uint32_t> members_;    // blocks of the current group
};

void mark_from(const model::HeapScan& scan, wire::RootKind kind, std::vector<uint8_t>& kinds) {
  const uint8_t bit = wire::root_bit(kind);
  std::vector<uint32_t> queue;
  const auto take = [&](uint32_t block) {
    if ((kinds[block] & bit) != 0) return false;
    kinds[block] |= bit;
    return true;
  };
  for (const model::RootPointer& root : scan.roots) {
    if (root.root == kind && take(root.to)) queue.push_back(root.to);
  }
  spread(scan, kinds, queue, [&](uint32_t, uint32_t index) { return take(scan.pointers[index].to); });
}

}  // namespace

Classification classify(const model::HeapScan& scan, const LeakOptions& options) {
  return classify_reached(scan, options, reach(scan, options));
}

std::vector<BlockState> reach(const model::HeapScan& scan, const LeakOptions& options) {
  return Classifier(scan, options).reach();
}

Classification classify_reached(const model::HeapScan& scan, const LeakOptions& options,
                                std::vector<BlockState> reached) {
  return Classifier(scan, options).run(std::move(reached));
}

std::vector<uint8_t> held_by_kinds(const model::HeapScan& scan, const LeakOptions& options) {
  std::vector<uint8_t> kinds(scan.blocks.size(), 0);
  for (unsigned i = 0; i < wire::kRootKindCount; ++i) {
    const auto kind = static_cast<wire::RootKind>(i);
    if (options.is_root(kind)) mark_from(scan, kind, kinds);
  }
  return kinds;
}

RootOwner owner_among(uint8_t kinds) {
  using enum wire::RootKind;
  const auto has = [kinds](wire::RootKind kind) { return (kinds & wire::root_bit(kind)) != 0; };
  if (has(kGlobal)) return RootOwner::kGlobals;
  if (has(kThreadLocal)) return RootOwner::kThreadLocals;
  return has(kMapping) || has(kKernel) ? RootOwner::kMappings : RootOwner::kStacks;
}

}  // namespace heaptap::leaks
