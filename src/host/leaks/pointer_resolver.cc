#include "host/leaks/pointer_resolver.h"

#include <bit>

namespace heaptap::leaks {
namespace {

constexpr unsigned kKindBits = 8;

uint64_t key_of(uint32_t to, wire::PointerKind kind, unsigned root = 0) {
  return (uint64_t{to} << kKindBits | static_cast<uint64_t>(kind)) << kKindBits | root;
}

}  // namespace

PointerResolver::PointerResolver(model::HeapScan& scan, const BlockIndex& index, const BlockHeads& heads,
                                 const RootNames& names, std::span<const wire::RootRange> ranges)
    : scan_(scan),
      index_(index),
      heads_(heads),
      names_(names),
      ranges_(ranges),
      word_shift_(static_cast<unsigned>(std::countr_zero(heads.word_bytes()))) {
  scan_.pointers_begin.assign(scan_.blocks.size() + 1, 0);
}

void PointerResolver::add(CandidateLog& log) {
  // Memory that isn't used in the end isn't touched.
  if (scan_.pointers.empty()) scan_.pointers.reserve(log.most_candidates());
  log.drain([this](const Candidate& candidate) {
    batch_[batched_++] = candidate;
    if (batched_ == kBatch) resolve_batch();
  });
  resolve_batch();
}

void PointerResolver::resolve_batch() {
  const std::span batch = std::span(batch_).first(batched_);
  for (const Candidate& candidate : batch) index_.fetch_leaf(candidate.value);
  for (const Candidate& candidate : batch) index_.fetch_starts(candidate.value);
  for (const Candidate& candidate : batch) resolve(candidate);
  batched_ = 0;
}

void PointerResolver::resolve(const Candidate& candidate) {
  const auto [to, kind] = target_of(candidate.value);
  if (to == kNoBlock) return;
  if (candidate.origin == kInBlocks) return add_block_pointer(candidate.position, to, kind);
  const wire::RootRange& range = ranges_[candidate.origin];
  add_root(range.thread_id,
           {.to = to, .kind = kind, .root = range.kind, .thread = 0, .address = candidate.position, .frame_code = 0});
}

void PointerResolver::add(const wire::RootWord& word) {
  if (!index_.may_hold(word.value)) return;
  const auto [to, kind] = target_of(word.value);
  if (to == kNoBlock) return;
  add_root(word.thread_id,
           {.to = to, .kind = kind, .root = word.kind, .thread = 0, .address = word.register_number, .frame_code = 0});
}

PointerResolver::Target PointerResolver::target_of(uint64_t address) const {
  const BlockIndex::Found found = index_.last_before(address);
  if (found.block == kNoBlock || found.is_start) return {.block = found.block};
  const model::ScannedBlock& block = scan_.blocks[found.block];
  const uint64_t offset = address - block.address;
  const bool empty_array = offset == heads_.cookie_bytes() && heads_.is_empty_array(found.block);
  if (offset >= block.size && !empty_array) return {};
  return {.block = found.block, .kind = heads_.kind_of(address, block, found.block)};
}

void PointerResolver::add_block_pointer(uint64_t position, uint32_t to, wire::PointerKind kind) {
  for (; from_ + 1 < scan_.blocks.size() && scan_.blocks[from_ + 1].address <= position; ++from_) {
    scan_.pointers_begin[from_ + 1] = static_cast<uint32_t>(scan_.pointers.size());
    if (!many_.empty()) many_.clear();
  }
  if (to == from_ || !is_new(to, kind)) return;
  if (scan_.pointers.size() >= kMostPointers) {
    full_ = true;
    return;
  }
  const uint64_t offset = (position - scan_.blocks[from_].address) >> word_shift_;
  scan_.pointers.push_back({.to = to, .offset = static_cast<uint32_t>(offset), .kind = kind});
}

bool PointerResolver::is_new(uint32_t to, wire::PointerKind kind) {
  const auto old = std::span(scan_.pointers).subspan(scan_.pointers_begin[from_]);
  if (old.size() < kFewPointers) {
    return std::none_of(old.begin(), old.end(),
                        [&](const auto& known) { return known.to == to && known.kind == kind; });
  }
  if (many_.empty()) {
    for (const model::BlockPointer& known : old) many_.insert(key_of(known.to, known.kind));
  }
  return many_.insert(key_of(to, kind)).second;
}

void PointerResolver::add_root(uint32_t thread_id, model::RootPointer root) {
  if (!known_roots_.insert(key_of(root.to, root.kind, static_cast<unsigned>(root.root))).second) return;
  names_.complete(thread_id, root);
  scan_.roots.push_back(root);
}

void PointerResolver::finish() {
  for (size_t i = from_ + 1; i < scan_.pointers_begin.size(); ++i) {
    scan_.pointers_begin[i] = static_cast<uint32_t>(scan_.pointers.size());
  }
  if (full_)
    scan_.notes.emplace_back("there are more pointers between blocks than a scan can keep; some were left out");
}

}  // namespace heaptap::leaks
