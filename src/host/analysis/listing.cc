#include "host/analysis/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace heaptap::analysis {
namespace {

// Of a stack that is deeper so many frames are shown, unless more are asked for.
constexpr uint32_t kMostFrames = 255;

std::string kind_text(ledger::ReleaseErrorKind kind) {
  switch (kind) {
    case ledger::ReleaseErrorKind::kMismatched:
      return "mismatched";
    case ledger::ReleaseErrorKind::kDouble:
      return "double";
    case ledger::ReleaseErrorKind::kInterior:
      return "interior";
    case ledger::ReleaseErrorKind::kBad:
      break;
  }
  return "bad";
}

// Keeps the first `limit` (0: all), in order.
template <typename Entry, typename Less>
void keep_first(std::vector<Entry>& entries, size_t limit, Less less) {
  if (limit != 0 && limit < entries.size()) {
    std::partial_sort(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(limit), entries.end(), less);
    entries.resize(limit);
  } else {
    std::sort(entries.begin(), entries.end(), less);
  }
}

}  // namespace

// Sums the tallies of the sites that are the same.
report::StackEntry Listing::stack_of(uint64_t id) const {
  report::StackEntry stack;
  stack.id = id;
  for (const model::SiteId site : index_.groups()[id - 1]) {
    if (site >= ledger_.tallies().size()) {
      continue;
    }
    const ledger::Tally& tally = ledger_.tallies()[site];
    stack.allocations += tally.allocations;
    stack.frees += tally.frees;
    stack.allocated_bytes += tally.allocated_bytes;
    stack.live_blocks += tally.live_blocks();
    stack.live_bytes += tally.live_bytes;
    stack.peak_bytes += tally.peak_bytes;
    stack.temporary_allocations += tally.temporary_allocations;
    stack.mismatched_frees += tally.mismatched_frees;
    stack.lifetime_ns += tally.lifetime_ns;
    const std::vector<model::ThreadId> threads = ledger_.threads_of(site);
    stack.threads.insert(stack.threads.end(), threads.begin(), threads.end());
  }
  std::sort(stack.threads.begin(), stack.threads.end());
  stack.threads.erase(std::unique(stack.threads.begin(), stack.threads.end()), stack.threads.end());
  return stack;
}

void Listing::name(report::StackEntry& stack) const {
  const model::Site& site = tables_.sites[index_.groups()[stack.id - 1].front()];
  const wire::FunctionFacts& function = wire::facts_of(site.function);
  stack.function = function.name;
  stack.variant = function.variant;
  stack.mapping = function.family == wire::Family::kMap;
  stack.frames = names_.frames_of(tables_, site.stack, query_.depth != 0 ? query_.depth : kMostFrames);
  const size_t depth = depth_of(tables_, site.stack);
  if (query_.depth == 0 && depth > kMostFrames) {
    stack.ends_early = fmt::format("{} frames in all, of which the innermost are shown", depth);
  } else {
    stack.ends_early = ends_early(tables_, site.stack);
  }
}

void Listing::list_stacks(report::Report& report) const {
  for (uint64_t id = 1; id <= index_.groups().size(); ++id) {
    report::StackEntry stack = stack_of(id);
    const bool mapping = tables_.sites[index_.groups()[id - 1].front()].kind == model::EventKind::kMap;
    if (stack.allocations == 0 || (query_.live_only && (stack.live_blocks == 0 || mapping))) {
      continue;
    }
    report.stacks.push_back(std::move(stack));
  }
  report.stack_count = report.stacks.size();
  if (!query_.stacks) {
    report.stacks.clear();
  }
  sort_stacks(report.stacks, query_.sort);
  if (query_.limit != 0 && query_.limit < report.stacks.size()) {
    report.stacks.resize(query_.limit);
  }
  for (report::StackEntry& stack : report.stacks) {
    name(stack);
  }
}

// The same function called from the same stack has the same number, for any kind of site.
uint64_t Listing::content_of(model::SiteId site) const {
  if (site == ledger::kNoSite) {
    return ~uint64_t{0};
  }
  const model::Site& entry = tables_.sites[site];
  return uint64_t{static_cast<uint8_t>(entry.function)} << 32 | index_.same_as(entry.stack);
}

void Listing::list_errors(report::Report& report) const {
  std::map<std::array<uint64_t, 4>, size_t> known;
  std::vector<ledger::ReleaseError> merged;
  for (const ledger::ReleaseError& error : ledger_.errors().all()) {
    const ledger::ReleaseErrorKey& key = error.key;
    const auto [found, added] = known.try_emplace({static_cast<uint64_t>(key.kind), content_of(key.released_at),
                                                   content_of(key.allocated_at), content_of(key.first_released_at)},
                                                  merged.size());
    if (added) {
      merged.push_back(error);
    } else {
      merged[found->second].count += error.count;
    }
  }
  std::erase_if(merged, [](const ledger::ReleaseError& error) { return error.count == 0; });
  std::stable_sort(merged.begin(), merged.end(),
                   [](const ledger::ReleaseError& a, const ledger::ReleaseError& b) { return a.count > b.count; });
  for (const ledger::ReleaseError& error : merged) {
    report.errors.push_back(error_of(error));
  }
  report.errors_requested = true;
  report.errors_dropped = ledger_.errors().dropped();
}

report::ErrorEntry Listing::error_of(const ledger::ReleaseError& error) const {
  report::ErrorEntry::Origin released = origin_of(error.key.released_at, 0);
  report::ErrorEntry entry{.kind = kind_text(error.key.kind),
                           .function = std::move(released.function),
                           .variant = std::move(released.variant),
                           .address = error.address,
                           .count = error.count,
                           .frames = std::move(released.frames),
                           .allocated = {},
                           .released = {}};
  if (error.key.allocated_at != ledger::kNoSite) {
    entry.allocated = origin_of(error.key.allocated_at, error.size_bytes);
  }
  if (error.key.first_released_at != ledger::kNoSite) {
    entry.released = origin_of(error.key.first_released_at, error.size_bytes);
  }
  return entry;
}

report::ErrorEntry::Origin Listing::origin_of(model::SiteId site, uint64_t size_bytes) const {
  const model::Site& entry = tables_.sites[site];
  const wire::FunctionFacts& function = wire::facts_of(entry.function);
  return {.function = function.name,
          .variant = function.variant,
          .size = size_bytes,
          .frames = names_.frames_of(tables_, entry.stack, query_.depth != 0 ? query_.depth : kMostFrames)};
}

void Listing::list_blocks(report::Report& report) const {
  struct Found {
    model::BlockNumber number;
    const ledger::Block* block;
  };
  std::vector<Found> found;
  found.reserve(ledger_.blocks().live_blocks());
  ledger_.blocks().for_each(
      [&](model::BlockNumber number, const ledger::Block& block) { found.push_back({number, &block}); });
  keep_first(found, query_.limit, [](const Found& a, const Found& b) {
    return a.block->size_bytes != b.block->size_bytes ? a.block->size_bytes > b.block->size_bytes : a.number < b.number;
  });
  for (const auto& [number, block] : found) {
    const model::Site& site = tables_.sites[block->site];
    std::vector<symbols::Frame> caller = names_.frames_of(tables_, site.stack, 1);
    report.blocks.push_back({.number = number,
                             .address = block->address,
                             .size = block->size_bytes,
                             .allocated_at_ns = block->allocated_at_ns,
                             .thread = block->thread,
                             .stack_id = index_.id_of(block->site),
                             .function = wire::facts_of(site.function).name,
                             .caller = caller.empty() ? symbols::Frame{} : std::move(caller.front())});
  }
}

}  // namespace heaptap::analysis
