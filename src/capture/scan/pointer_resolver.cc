#include "capture/scan/pointer_resolver.h"

#include <bit>

#include "capture/scan/aligned_pointers.h"
#include "capture/scan/class_records.h"

namespace heaptap::scan {
namespace {

constexpr unsigned kKindBits = 8;
constexpr uint64_t kMaxMarkBits = 3;

uint64_t key_of(uint32_t to, wire::PointerKind kind, unsigned root = 0) {
  return (uint64_t{to} << kKindBits | static_cast<uint64_t>(kind)) << kKindBits | root;
}

}  // namespace

PointerResolver::PointerResolver(model::HeapScan& scan, const BlockIndex& index, const BlockHeads& heads,
                                 const RootNames& names, std::span<const wire::RootRange> ranges,
                                 const CallLevels& calls)
    : scan_(scan),
      index_(index),
      heads_(heads),
      names_(names),
      ranges_(ranges),
      calls_(calls),
      word_shift_(static_cast<unsigned>(std::countr_zero(heads.word_bytes()))) {
  scan_.pointers_begin.assign(scan_.blocks.size() + 1, 0);
}

void PointerResolver::add(CandidateLog& log) {
  // Unused memory isn't touched.
  if (scan_.pointers.empty()) scan_.pointers.reserve(log.max_candidates());
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
  Target target = target_of(candidate.value);
  if (target.block == model::kNoBlock) return;
  if (candidate.form == WordForm::kRelative) return add_relative(candidate, target);
  if (candidate.form == WordForm::kTagged) {
    if (target.kind != wire::PointerKind::kStart) return;
    target.kind = wire::PointerKind::kTagged;
  }
  if (target.is_end) return add_end(candidate, target.block);
  if (candidate.origin == kInBlocks) return add_block_pointer(candidate.position, target);
  const wire::RootRange& range = ranges_[candidate.origin];
  add_root(range.thread_id, target,
           {.to = target.block,
            .kind = target.kind,
            .root = range.kind,
            .thread = 0,
            .address = candidate.position,
            .frame_code = 0});
}

void PointerResolver::add(const wire::RootWord& word) {
  if (!index_.may_hold(word.value)) return;
  const Target target = target_of(word.value);
  if (target.block == model::kNoBlock || target.is_end) return;
  add_root(word.thread_id, target,
           {.to = target.block,
            .kind = target.kind,
            .root = word.kind,
            .thread = 0,
            .address = word.register_number,
            .frame_code = 0});
}

PointerResolver::Target PointerResolver::target_of(uint64_t address) const {
  const BlockIndex::Found found = index_.last_before(address);
  if (found.block == model::kNoBlock || found.is_start) return {.block = found.block};
  const model::ScannedBlock& block = scan_.blocks[found.block];
  const uint64_t offset = address - block.address;
  const bool empty_array = offset == heads_.cookie_bytes() && heads_.is_empty_array(found.block);
  if (offset > block.size_bytes && !empty_array) return {};
  if (offset == block.size_bytes && !empty_array) {
    return {.block = found.block, .kind = wire::PointerKind::kInterior, .offset = offset, .is_end = true};
  }
  const wire::PointerKind kind = heads_.kind_of(address, block, found.block);
  const uint64_t low_bits = heads_.word_bytes() - 1;  // no block begins at an address with one of these bits
  const bool is_tagged = kind == wire::PointerKind::kInterior && offset <= low_bits && (block.address & low_bits) == 0;
  return {.block = found.block, .kind = is_tagged ? wire::PointerKind::kTagged : kind, .offset = offset};
}

void PointerResolver::move_to_block_at(uint64_t position) {
  for (; from_ + 1 < scan_.blocks.size() && scan_.blocks[from_ + 1].address <= position; ++from_) {
    scan_.pointers_begin[from_ + 1] = static_cast<uint32_t>(scan_.pointers.size());
    if (!many_.empty()) many_.clear();
  }
}

void PointerResolver::add_block_pointer(uint64_t position, const Target& target) {
  move_to_block_at(position);
  if (target.block == from_) return;
  const bool is_marked =
      target.kind == wire::PointerKind::kTagged && target.offset != 0 && target.offset <= kMaxMarkBits;
  if (is_marked && is_same_call(from_, target.block))
    return add_kept(position, {.block = target.block, .kind = wire::PointerKind::kMarked, .offset = 0});
  add_kept(position, target);
}

void PointerResolver::add_end(const Candidate& candidate, uint32_t block) {
  if (ends_.words.size() + ends_.roots.size() >= kMaxEnds) {
    full_ = true;
    return;
  }
  if (candidate.origin != kInBlocks) {
    const wire::RootRange& range = ranges_[candidate.origin];
    if (!may_keep_ends(range.kind)) return;
    ends_.roots.push_back(
        {range.thread_id,
         {.to = block, .kind = {}, .root = range.kind, .thread = 0, .address = candidate.position, .frame_code = 0}});
    return;
  }
  move_to_block_at(candidate.position);
  // The most frequent ones, of vectors that are full: their start is known by then.
  const bool is_known = scan_.pointers.size() > scan_.pointers_begin[from_] && scan_.pointers.back().to == block;
  if (block == from_ || is_known) return;
  const uint64_t offset = (candidate.position - scan_.blocks[from_].address) >> word_shift_;
  ends_.words.push_back({.from = from_, .offset = static_cast<uint32_t>(offset), .to = block});
}

// What doesn't fit in is not believed, nor are most of its kind, then.
void PointerResolver::add_relative(const Candidate& candidate, const Target& target) {
  const uint32_t from = index_.last_before(candidate.position).block;
  if (from == model::kNoBlock || target.kind != wire::PointerKind::kStart || target.block == from) return;
  if (relative_words_.size() >= kMaxRelativeWords) return;
  const uint64_t offset = (candidate.position - scan_.blocks[from].address) >> word_shift_;
  relative_words_.push_back({.from = from, .offset = static_cast<uint32_t>(offset), .to = target.block});
}

bool PointerResolver::is_same_call(uint32_t from, uint32_t to) const {
  const uint32_t call = call_of(calls_[0], scan_.blocks[from].site);
  return call != kNoCall && call == call_of(calls_[0], scan_.blocks[to].site);
}

void PointerResolver::add_kept(uint64_t position, const Target& target) {
  const bool is_interior = target.leads_inside();
  const uint32_t same = same_pointer(target.block, target.kind);
  if (same != kNoPointer) {
    if (is_interior) interior_pointers_.lower(same, target.offset);
    return;
  }
  if (scan_.pointers.size() >= kMaxPointers) {
    full_ = true;
    return;
  }
  if (is_interior) interior_pointers_.add(scan_.pointers.size(), target.offset);
  const uint64_t offset = (position - scan_.blocks[from_].address) >> word_shift_;
  scan_.pointers.push_back({.to = target.block, .offset = static_cast<uint32_t>(offset), .kind = target.kind});
}

uint32_t PointerResolver::same_pointer(uint32_t to, wire::PointerKind kind) {
  const uint32_t begin = scan_.pointers_begin[from_];
  const auto end = static_cast<uint32_t>(scan_.pointers.size());
  if (end - begin < kFewPointers) {
    for (uint32_t i = begin; i < end; ++i) {
      if (scan_.pointers[i].to == to && scan_.pointers[i].kind == kind) return i;
    }
    return kNoPointer;
  }
  if (many_.empty()) {
    for (uint32_t i = begin; i < end; ++i) many_.emplace(key_of(scan_.pointers[i].to, scan_.pointers[i].kind), i);
  }
  const auto [entry, is_new] = many_.emplace(key_of(to, kind), end);
  return is_new ? kNoPointer : entry->second;
}

void PointerResolver::add_root(uint32_t thread_id, const Target& target, model::RootPointer root) {
  const bool is_interior = target.leads_inside();
  if (root.is_global_start()) {
    names_.complete(thread_id, root);
    return add_global_start(root);
  }
  const auto next = static_cast<uint32_t>(scan_.roots.size());
  const auto [entry, is_new] = known_roots_.emplace(key_of(root.to, root.kind, static_cast<unsigned>(root.root)), next);
  if (!is_new) {
    if (is_interior) interior_roots_.lower(entry->second, target.offset);
    return;
  }
  if (is_interior) interior_roots_.add(next, target.offset);
  names_.complete(thread_id, root);
  scan_.roots.push_back(root);
}

// The last word takes the place of the one before it where there are more than are kept: it is likelier to be of another variable
// than the first ones of an array.
void PointerResolver::add_global_start(const model::RootPointer& root) {
  GlobalStarts& starts = global_starts_[root.to];
  if (starts.count == starts.roots.size()) {
    scan_.roots[starts.roots.back()] = root;
    return;
  }
  starts.roots[starts.count++] = static_cast<uint32_t>(scan_.roots.size());
  scan_.roots.push_back(root);
}

void PointerResolver::finish() {
  for (size_t i = from_ + 1; i < scan_.pointers_begin.size(); ++i) {
    scan_.pointers_begin[i] = static_cast<uint32_t>(scan_.pointers.size());
  }
  const bool may_have_headers = !interior_pointers_.entries().empty() || !interior_roots_.entries().empty();
  const Headers headers = may_have_headers ? mark_certain_places() : Headers();
  const auto relative =
      find_relative_pointers(scan_, std::move(relative_words_), calls_[0], static_cast<unsigned>(heads_.word_bytes()));
  if (scan_.pointers.size() + relative.size() < kMaxPointers) {
    add_pointers(scan_, relative, [](const BlockWord&) { return wire::PointerKind::kTagged; });
  }
  if (scan_.pointers.size() + ends_.words.size() < kMaxPointers) {
    add_end_pointers(scan_, std::move(ends_), headers, names_);
  }
  if (full_) scan_.notes.push_back({model::NoteKind::kPointersLeftOut});
}

Headers PointerResolver::mark_certain_places() {
  const std::vector<Entrances> entrances =
      find_entrances(scan_, interior_pointers_, interior_roots_, heads_.word_bytes());
  Headers headers(scan_, entrances, calls_);
  mark_header_pointers(scan_, interior_pointers_, interior_roots_, headers);
  mark_object_pointers(scan_, interior_pointers_, interior_roots_, entrances, calls_, heads_.word_bytes());
  mark_aligned_pointers(scan_, interior_pointers_, interior_roots_);
  return headers;
}

}  // namespace heaptap::scan
