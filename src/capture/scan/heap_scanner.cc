#include "capture/scan/heap_scanner.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <optional>
#include <tuple>

#include "capture/scan/counted_memory.h"
#include "capture/scan/pointer_collector.h"
#include "common/base/check.h"

namespace heaptap::scan {
namespace {

constexpr uint64_t kMaxBytes = BlockIndex::kAddressEnd;

// Sorts and removes duplicates and addresses that can't be searched. Returns the number of the latter.
size_t put_in_order(std::vector<model::ScannedBlock>& blocks) {
  const auto before = [](const model::ScannedBlock& a, const model::ScannedBlock& b) { return a.address < b.address; };
  if (!std::is_sorted(blocks.begin(), blocks.end(), before)) std::stable_sort(blocks.begin(), blocks.end(), before);
  const auto replaced = [](const model::ScannedBlock& a, const model::ScannedBlock& b) {
    return a.address == b.address;
  };
  if (std::adjacent_find(blocks.begin(), blocks.end(), replaced) != blocks.end()) {
    // From the end, since the last one counts.
    blocks.erase(blocks.begin(), std::unique(blocks.rbegin(), blocks.rend(), replaced).base());
  }
  const size_t odd = std::erase_if(blocks, [](const model::ScannedBlock& block) {
    return block.address == 0 || block.address >= kMaxBytes || block.size_bytes > kMaxBytes - block.address;
  });
  for (model::ScannedBlock& block : blocks) {
    if (block.type != 0) block.type = 0;
  }
  return odd;
}

// Liveness of the sorted blocks, from what was known for each address.
std::vector<model::BlockLife> lives_in_order(const std::vector<model::ScannedBlock>& before,
                                             const std::vector<model::BlockLife>& lives,
                                             const std::vector<model::ScannedBlock>& ordered) {
  boost::unordered_flat_map<uint64_t, model::BlockLife> known;
  for (size_t i = 0; i < std::min(before.size(), lives.size()); ++i) known[before[i].address] = lives[i];
  std::vector<model::BlockLife> result;
  for (const model::ScannedBlock& block : ordered) result.push_back(known[block.address]);
  return result;
}

void put_in_order(std::vector<wire::RootRange>& ranges) {
  std::erase_if(ranges, [](const wire::RootRange& range) {
    return range.begin >= range.end || static_cast<unsigned>(range.kind) >= wire::kRootKindCount;
  });
  const auto key = [](const wire::RootRange& range) {
    return std::tuple(range.kind, range.begin, range.end, range.thread_id);
  };
  std::ranges::sort(ranges, {}, key);
}

}  // namespace

struct HeapScanner::State {
  explicit State(ScanInput input, ScanLimits limits_given)
      : limits(limits_given),
        word_bytes(input.word_bytes),
        ranges(std::move(input.root_ranges)),
        words(std::move(input.root_words)),
        calls(std::move(input.calls)),
        vtables(std::move(input.read_only_data), input.word_bytes),
        names(std::move(input.frames), std::move(input.thread_local_segments), std::move(input.threads)) {
    scan.blocks = std::move(input.blocks);
    const std::vector<model::ScannedBlock> before = input.lives.empty() ? decltype(scan.blocks){} : scan.blocks;
    if (const size_t odd = put_in_order(scan.blocks); odd != 0) {
      scan.notes.push_back({.kind = model::NoteKind::kBlocksMisplaced, .numbers = {odd}});
    }
    if (!input.lives.empty()) scan.lives = lives_in_order(before, input.lives, scan.blocks);
    put_in_order(ranges);
    index = BlockIndex(scan.blocks);
    heads = BlockHeads(scan.blocks.size(), word_bytes);
    resolver.emplace(scan, index, heads, names, ranges, calls);
  }

  template <typename Word>
  void collect(process::ProgramMemory& memory);
  bool take_candidates(CandidateLog& candidates);
  [[nodiscard]] bool is_in_block(uint64_t position) const;

  ScanLimits limits;
  unsigned word_bytes;
  std::vector<wire::RootRange> ranges;
  std::vector<wire::RootWord> words;
  CallLevels calls;
  Vtables vtables;
  RootNames names;
  model::HeapScan scan;
  BlockIndex index;
  BlockHeads heads;
  CandidateLog log;
  uint64_t unread_bytes = 0;
  std::optional<PointerResolver> resolver;
};

HeapScanner::HeapScanner(ScanInput input, ScanLimits limits)
    : state_(std::make_unique<State>(std::move(input), limits)) {}
HeapScanner::HeapScanner(HeapScanner&&) noexcept = default;
HeapScanner& HeapScanner::operator=(HeapScanner&&) noexcept = default;
HeapScanner::~HeapScanner() = default;

template <typename Word>
void HeapScanner::State::collect(process::ProgramMemory& memory) {
  CountedMemory counted(memory);
  PointerCollector<Word> collector({.scan = scan,
                                    .index = index,
                                    .vtables = vtables,
                                    .heads = heads,
                                    .log = log,
                                    .resolver = *resolver,
                                    .max_log_bytes = limits.candidate_bytes},
                                   counted);
  collector.collect_blocks();
  collector.collect_roots(ranges);
  unread_bytes = collector.unread_bytes();
  scan.read_bytes = counted.read_bytes();
  scan.skipped_bytes = counted.skipped_bytes();
}

void HeapScanner::collect(process::ProgramMemory& memory) {
  if (state_->word_bytes == sizeof(uint32_t)) {
    state_->collect<uint32_t>(memory);
  } else {
    state_->collect<uint64_t>(memory);
  }
}

uint64_t HeapScanner::read_bytes() const {
  HEAPTAP_CHECK(state_ != nullptr);
  return state_->scan.read_bytes;
}

uint64_t HeapScanner::skipped_bytes() const {
  HEAPTAP_CHECK(state_ != nullptr);
  return state_->scan.skipped_bytes;
}

Findings HeapScanner::hand_over() {
  HEAPTAP_CHECK(state_ != nullptr);
  State& state = *state_;
  Findings findings{.patterns = state.heads.patterns(),
                    .types = {},
                    .inner_vtables = state.heads.inner_vtables(),
                    .candidates = std::move(state.log),
                    .read_bytes = state.scan.read_bytes,
                    .skipped_bytes = state.scan.skipped_bytes,
                    .unread_bytes = state.unread_bytes};
  for (const model::ScannedBlock& block : state.scan.blocks) findings.types.push_back(block.type);
  state_.reset();
  return findings;
}

bool HeapScanner::take(Findings findings) {
  HEAPTAP_CHECK(state_ != nullptr);
  State& state = *state_;
  std::vector<model::ScannedBlock>& blocks = state.scan.blocks;
  if (findings.patterns.size() != blocks.size() || findings.types.size() != blocks.size() ||
      !std::ranges::is_sorted(findings.inner_vtables) || !state.take_candidates(findings.candidates)) {
    return false;
  }
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i].type = findings.types[i];
  state.heads = BlockHeads(std::move(findings.patterns), std::move(findings.inner_vtables), state.word_bytes);
  state.scan.read_bytes = findings.read_bytes;
  state.scan.skipped_bytes = findings.skipped_bytes;
  state.unread_bytes = findings.unread_bytes;
  return true;
}

// False: some pointers have no source, a wrong target, or aren't in order.
bool HeapScanner::State::take_candidates(CandidateLog& candidates) {
  bool sound = true;
  uint64_t last_in_blocks = 0;
  uint32_t last_origin = PointerResolver::kInBlocks;
  log.begin(last_origin);
  candidates.drain([&](const Candidate& candidate) {
    if (candidate.origin != last_origin) log.begin(last_origin = candidate.origin);
    if (candidate.form == WordForm::kRelative) {
      sound = sound && candidate.origin == PointerResolver::kInBlocks && is_in_block(candidate.position);
    } else if (candidate.origin == PointerResolver::kInBlocks) {
      sound = sound && candidate.position >= last_in_blocks && is_in_block(candidate.position);
      last_in_blocks = candidate.position;
    } else {
      sound = sound && candidate.origin < ranges.size();
    }
    if (sound) log.add(candidate.value, candidate.position, candidate.form);
  });
  return sound;
}

bool HeapScanner::State::is_in_block(uint64_t position) const {
  if (!index.may_hold(position)) return false;
  const uint32_t block = index.last_before(position).block;
  if (block == model::kNoBlock) return false;
  const uint64_t offset = position - scan.blocks[block].address;
  return scan.blocks[block].size_bytes >= word_bytes && offset <= scan.blocks[block].size_bytes - word_bytes;
}

model::HeapScan HeapScanner::resolve() {
  HEAPTAP_CHECK(state_ != nullptr);
  State& state = *state_;
  if (state.unread_bytes != 0) {
    state.scan.notes.push_back({.kind = model::NoteKind::kMemoryNotRead, .numbers = {state.unread_bytes}});
  }
  state.resolver->add(state.log);
  for (const wire::RootWord& word : state.words) state.resolver->add(word);
  state.resolver->finish();
  model::HeapScan scan = std::move(state.scan);
  state_.reset();
  return scan;
}

}  // namespace heaptap::scan
