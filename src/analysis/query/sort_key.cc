#include "analysis/query/sort_key.h"

#include <algorithm>
#include <array>
#include <utility>

namespace heaptap::query {
namespace {

constexpr std::array<std::pair<std::string_view, SortKey>, 13> kSortKeys{{{"allocations", SortKey::kAllocations},
                                                                          {"average", SortKey::kAverage},
                                                                          {"bad-frees", SortKey::kBadFrees},
                                                                          {"growth", SortKey::kGrowth},
                                                                          {"leaked-bytes", SortKey::kLeakedBytes},
                                                                          {"leaks", SortKey::kLeaks},
                                                                          {"mismatched", SortKey::kMismatched},
                                                                          {"peak", SortKey::kPeak},
                                                                          {"stacks", SortKey::kStacks},
                                                                          {"temporary", SortKey::kTemporary},
                                                                          {"total", SortKey::kTotal},
                                                                          {"time", SortKey::kTime},
                                                                          {"usage", SortKey::kUsage}}};

uint64_t leaked_bytes(const report::StackEntry& stack) {
  return stack.leaks ? stack.leaks->definite.bytes + stack.leaks->below.bytes : stack.live_bytes.counted();
}

uint64_t leaked_blocks(const report::StackEntry& stack) {
  return stack.leaks ? stack.leaks->definite.blocks + stack.leaks->below.blocks : stack.live_blocks.counted();
}

// Definitely lost bytes come before indirectly and possibly lost ones.
uint64_t doubtful_bytes(const report::StackEntry& stack) {
  return stack.leaks ? stack.leaks->possible.bytes + stack.leaks->indirect.bytes : 0;
}

// The same order as an unsigned number.
uint64_t ascending(int64_t value) {
  return static_cast<uint64_t>(value) ^ uint64_t { 1 } << 63;
}

// First and second key of comparison.
std::pair<uint64_t, uint64_t> weight(const report::StackEntry& stack, SortKey key) {
  switch (key) {
    case SortKey::kAllocations:
      return {stack.allocations.counted(), stack.own_allocated_bytes().counted()};
    case SortKey::kAverage:
      return {
          stack.allocations.counted() == 0 ? 0 : stack.own_allocated_bytes().counted() / stack.allocations.counted(),
          stack.own_allocated_bytes().counted()};
    case SortKey::kBadFrees:
    case SortKey::kMismatched:
      return {stack.mismatched_releases.counted(), stack.allocations.counted()};
    case SortKey::kGrowth:
      return {ascending(stack.growth ? stack.growth->bytes : static_cast<int64_t>(stack.own_live_bytes().counted())),
              ascending(stack.growth ? stack.growth->blocks : static_cast<int64_t>(stack.live_blocks.counted()))};
    case SortKey::kLeakedBytes:
      return {leaked_bytes(stack), stack.leaks ? doubtful_bytes(stack) : leaked_blocks(stack)};
    case SortKey::kLeaks:
      return {leaked_blocks(stack), leaked_bytes(stack)};
    case SortKey::kPeak:
      return {stack.own_peak_bytes().counted(), stack.own_live_bytes().counted()};
    case SortKey::kStacks:
      return {0, 0};
    case SortKey::kTemporary:
      return {stack.temporary_allocations.counted(), stack.allocations.counted()};
    case SortKey::kTotal:
      return {stack.own_allocated_bytes().counted(), stack.allocations.counted()};
    case SortKey::kTime:
      return {stack.lifetime_ns.counted(), stack.allocated_bytes.counted()};
    case SortKey::kUsage:
      return {stack.own_live_bytes().counted(), stack.own_allocated_bytes().counted()};
  }
  return {0, 0};
}

}  // namespace

base::Result<SortKey> parse_sort_key(std::string_view text) {
  const std::pair<std::string_view, SortKey>* match = nullptr;
  size_t matches = 0;
  for (const auto& entry : kSortKeys) {
    if (entry.first == text) {
      return entry.second;
    }
    if (!text.empty() && entry.first.starts_with(text)) {
      match = &entry;
      ++matches;
    }
  }
  if (matches == 1) {
    return match->second;
  }
  std::string names;
  for (const auto& entry : kSortKeys) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.first);
  }
  return base::fail_as(base::ErrorKind::kUsage, "{} sort key '{}': use one of {}",
                       matches == 0 ? "unknown" : "ambiguous", text, names);
}

std::vector<std::string> sort_key_names() {
  std::vector<std::string> names;
  for (const auto& entry : kSortKeys) names.emplace_back(entry.first);
  return names;
}

std::string_view name_of(SortKey key) {
  const auto* const found =
      std::find_if(kSortKeys.begin(), kSortKeys.end(), [key](const auto& entry) { return entry.second == key; });
  return found == kSortKeys.end() ? "" : found->first;
}

SortKey sort_of(report::Focus focus) {
  switch (focus) {
    case report::Focus::kPeak:
      return SortKey::kPeak;
    case report::Focus::kTemporary:
      return SortKey::kTemporary;
    case report::Focus::kLive:
      break;
  }
  return SortKey::kUsage;
}

SortPlace place_of(const report::StackEntry& stack, SortKey key) {
  const auto [first, second] = weight(stack, key);
  return {~first, ~second, stack.id};
}

}  // namespace heaptap::query
