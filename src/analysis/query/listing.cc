#include "analysis/query/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "analysis/query/entries.h"
#include "analysis/query/label_names.h"
#include "analysis/query/system_stacks.h"
#include "analysis/report/label_sums.h"
#include "analysis/report/stack_sums.h"

namespace heaptap::query {
namespace {

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

// Keeps the first `limit` entries (0: all), sorted.
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

std::string called_name(wire::Function function) {
  const char* const name = wire::facts_of(function).name;
  return *name != '\0' ? name : "allocator";
}

// Files of other tools have allocations of no known function, too; but those have a stack, or no label.
bool is_earlier(const model::Site& site) {
  return site.kind == model::EventKind::kAllocate && site.function == wire::Function::kNone &&
         site.stack == static_cast<model::StackId>(wire::StackEnd::kNotUnwound) && site.label != 0;
}

model::EventKind Lister::kind_of(uint64_t id) const { return tables_.sites[index_.first_site(id)].kind; }

// Adds up the tallies of equal sites.
void Lister::count(uint64_t id, report::StackEntry& stack) const {
  stack.id = id;
  stack.allocations = stack.releases = stack.allocated_bytes = stack.live_blocks = stack.live_bytes = stack.peak_bytes =
      0;
  stack.temporary_allocations = stack.mismatched_releases = stack.lifetime_ns = 0;
  stack.rare.reset();
  stack.threads_known = true;
  const bool is_mapped = is_mapping(id);
  for (model::SiteId site = index_.first_site(id); site != StackIndex::kNoSite; site = index_.next_site(site)) {
    if (site >= ledger_.tallies().size()) {
      continue;
    }
    const ledger::Tally& tally = ledger_.tallies()[site];
    stack.allocations += tally.allocations;
    stack.releases += tally.releases;
    stack.allocated_bytes += tally.allocated_bytes;
    stack.live_blocks += tally.live_blocks();
    stack.live_bytes += tally.live_bytes;
    stack.peak_bytes += ledger_.peak_bytes_of(site);
    stack.temporary_allocations += tally.temporary_allocations;
    stack.mismatched_releases += ledger_.mismatched_releases_of(site);
    stack.lifetime_ns += ledger_.lifetime_ns_of(site);
    report::add_mapped(stack, ledger_.mapped_bytes_of(site), ledger_.mapped_peak_bytes_of(site));
    const ledger::SiteMissingData gaps = ledger_.gaps_of(site);
    if (gaps.live) stack.set_live_unknown();
    stack.threads_known = stack.threads_known && !gaps.threads;
  }
  if (ledger_.gaps().events) stack.set_times_unknown();
  if (ledger_.gaps().temporary) stack.temporary_allocations.set_unknown();
  stack.growth = {};
  if (ledger_.knows_older() && !is_mapped) stack.growth = growth_of(id, stack);
  stack.leaks = leaks_ != nullptr && !is_mapped ? leaks_of(id) : report::ScannedLeaks();
  if (is_earlier(tables_.sites[index_.first_site(id)])) stack.set_calls_unknown();
  if (asked_.counting.events) return;
  stack.set_calls_unknown();
  if (stack.leaks) take_from_scan(stack);
}

// Live blocks allocated in the window, minus those from before it that were released in it.
report::Growth Lister::growth_of(uint64_t id, const report::StackEntry& stack) const {
  report::Growth growth{.blocks = static_cast<int64_t>(stack.live_blocks.counted()),
                        .bytes = static_cast<int64_t>(stack.live_bytes.counted())};
  for (model::SiteId site = index_.first_site(id); site != StackIndex::kNoSite; site = index_.next_site(site)) {
    const ledger::OlderReleases older = ledger_.older_releases_of(site);
    growth.blocks -= static_cast<int64_t>(older.blocks);
    growth.bytes -= static_cast<int64_t>(older.bytes);
  }
  return growth;
}

void Lister::take_from_scan(report::StackEntry& stack) {
  const report::StackLeaks& leaks = *stack.leaks;
  report::BlockCount live = leaks.lost();
  for (const report::BlockCount& more :
       {leaks.possible, leaks.reachable, leaks.suppressed, leaks.ignored, leaks.unknown})
    live += more;
  stack.live_blocks = {live.blocks, stack.live_blocks.is_known()};
  stack.live_bytes = {live.bytes, stack.live_bytes.is_known()};
  stack.set_times_unknown();
  stack.temporary_allocations.set_unknown();
  stack.threads_known = false;
}

report::ScannedLeaks Lister::leaks_of(uint64_t id) const {
  report::ScannedLeaks found;
  found.set_scanned();
  for (model::SiteId site = index_.first_site(id); site != StackIndex::kNoSite; site = index_.next_site(site)) {
    const report::StackLeaks* of_site = leaks_->of(site);
    if (of_site == nullptr) continue;
    report::StackLeaks& sum = found.edit();
    sum += *of_site;
    const model::SiteId holder = leaks_->holder_of(site);
    if (holder == LeakCounts::kNoSite || index_.id_of(holder) == id) continue;
    sum.has_more_holders = sum.has_more_holders || leaks_->has_more_holders(site) ||
                           (sum.held_by != 0 && sum.held_by != index_.id_of(holder));
    if (sum.held_by == 0) sum.held_by = index_.id_of(holder);
  }
  return found;
}

bool Lister::is_seen(const report::StackEntry& stack) const {
  const bool shrank = stack.growth && (stack.growth->bytes != 0 || stack.growth->blocks != 0);
  const bool is_only_in_scan =
      query_.leaks_only && stack.leaks && is_earlier(tables_.sites[index_.first_site(stack.id)]);
  return stack.allocations.counted() != 0 || !asked_.counting.events || shrank || is_only_in_scan;
}

bool Lister::is_listed(const report::StackEntry& stack) const {
  if (!query_.leaks_only) return true;
  if (leaks_ == nullptr) return stack.live_blocks.counted() != 0 && !is_apart(stack.id);
  return stack.leaks && stack.leaks->may_be_lost();
}

report::ThreadNumbers Lister::threads_of(uint64_t id) const {
  report::ThreadNumbers threads;
  for (model::SiteId site = index_.first_site(id); site != StackIndex::kNoSite; site = index_.next_site(site)) {
    if (site < ledger_.tallies().size()) {
      const std::vector<model::ThreadId> of_site = ledger_.threads_of(site);
      threads.insert(threads.end(), of_site.begin(), of_site.end());
    }
  }
  std::sort(threads.begin(), threads.end());
  threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  return threads;
}

void Lister::name_label(report::StackEntry& stack, const model::Site& site) const {
  LabelNames labels = names_of(tables_, site.label);
  report::RareFacts& facts = stack.rare.edit();
  if (is_earlier(site) && !labels.tags.empty())
    facts.earlier = std::move(labels.tags.front());
  else
    facts.tags = std::move(labels.tags);
  facts.pool = std::move(labels.pool);
}

void Lister::name(report::StackEntry& stack) const {
  const model::Site& site = tables_.sites[index_.first_site(stack.id)];
  const wire::FunctionFacts& function = wire::facts_of(site.function);
  stack.function = called_name(site.function);
  stack.variant = function.variant;
  stack.mapping = site.kind == model::EventKind::kMap;
  stack.pooled = site.kind == model::EventKind::kPoolAllocate;
  if (site.label != 0) name_label(stack, site);
  stack.frames = names_.list_path(tables_, site.stack, asked_.listing.frames.count());
  stack.purpose = purpose_of(tables_, site, names_);
  const StackShape shape = shape_of(tables_, site.stack);
  stack.frames_in_all =
      asked_.listing.frames.depth == 0 && shape.depth > kMaxListedFrames ? static_cast<uint32_t>(shape.depth) : 0;
  stack.end = shape.end;
  stack.ends_in_made_code = shape.depth != 0 && tables_.module_of(tables_.codes[shape.outermost]) == nullptr;
}

bool Lister::is_ignored(const report::StackEntry& stack, report::Ignored& ignored) const {
  if (!ignored_.any() || (asked_.counting.events ? stack.allocations : stack.live_blocks).counted() == 0) return false;
  const model::Site& site = tables_.sites[index_.first_site(stack.id)];
  const uint32_t rule = ignored_.rule_of(tables_, site.stack);
  if (rule == Ignores::kNone) return false;
  const bool is_map = is_mapping(stack.id);
  const bool is_block = !is_apart(stack.id);
  ignored.rules[rule].count += {.stacks = 1,
                                .allocations = is_block ? stack.allocations.counted() : 0,
                                .allocated_bytes = is_block ? stack.allocated_bytes.counted() : 0,
                                .live_blocks = is_block ? stack.live_blocks.counted() : 0,
                                .live_bytes = is_block ? stack.live_bytes.counted() : 0,
                                .mapped_live_bytes = is_map ? stack.live_bytes.counted() : 0};
  return true;
}

// Programs have many stacks, and few are shown: only these become entries.
void Lister::list_stacks(report::Report& report) const {
  for (const Ignores::Rule& rule : ignored_.rules().rules())
    report.ignored.rules.push_back({rule.place, rule.filter.text(), {}});
  std::vector<SortPlace> places;
  std::vector<SortPlace> also;
  std::vector<SortPlace> mapped;
  places.reserve(index_.group_count());
  if (asked_.listing.counts) report.counts.reserve(index_.group_count());
  report::StackEntry stack;
  for (uint64_t id = 1; id <= index_.group_count(); ++id) {
    count(id, stack);
    const bool ignored = is_ignored(stack, report.ignored);
    if (asked_.listing.counts) report.counts.push_back(ignored ? report::StackCount{} : count_of(stack));
    if (ignored || !is_seen(stack)) continue;
    if (query_.also) also.push_back(place_of(stack, *query_.also));
    if (asked_.listing.mapped_peak && stack.rare->mapped_peak_bytes != 0)
      mapped.push_back({~stack.rare->mapped_peak_bytes, 0, stack.id});
    if (!is_listed(stack)) continue;
    places.push_back(place_of(stack, query_.sort));
    if (asked_.listing.group != GroupBy::kNothing) count_label(report.labels, stack);
  }
  std::ranges::sort(report.labels, std::less<>(),
                    [this](const report::LabelEntry& label) { return place_of(label.sum, query_.sort); });
  report.stack_count = places.size();
  if (!asked_.listing.stacks) {
    return;
  }
  if (!asked_.listing.stack_ids.empty()) {
    for (const uint64_t id : asked_.listing.stack_ids) {
      if (id != 0 && id <= index_.group_count()) list(report, id);
    }
    return;
  }
  keep_first(places, asked_.listing.limit, std::less<>());
  report.stacks.reserve(places.size());
  for (const SortPlace& place : places) list(report, place.id);
  list_others(report, std::move(also));
  list_others(report, std::move(mapped));
}

// Those that aren't listed yet.
void Lister::list_others(report::Report& report, std::vector<SortPlace> places) const {
  keep_first(places, asked_.listing.limit, std::less<>());
  std::erase_if(places, [&](const SortPlace& place) {
    return std::ranges::find(report.stacks, place.id, &report::StackEntry::id) != report.stacks.end();
  });
  for (const SortPlace& place : places) list(report, place.id);
}

// Memory apart from blocks isn't in any tag's sums: this way they add up to the totals.
void Lister::count_label(std::vector<report::LabelEntry>& labels, const report::StackEntry& stack) const {
  const model::Site& site = tables_.sites[index_.first_site(stack.id)];
  const bool by_pool = asked_.listing.group == GroupBy::kPool;
  const model::EventKind wanted = by_pool ? model::EventKind::kPoolAllocate : model::EventKind::kAllocate;
  if (site.kind != wanted) return;
  LabelNames names = names_of(tables_, site.label);
  report::LabelEntry entry{.tags = {}, .pool = {}, .sum = stack};
  if (by_pool) {
    entry.pool = std::move(names.pool);
    entry.is_pool = true;
  } else {
    entry.tags = std::move(names.tags);
  }
  report::add_to_labels(labels, entry);
}

void Lister::list(report::Report& report, uint64_t id) const {
  report::StackEntry& entry = report.stacks.emplace_back();
  count(id, entry);
  entry.threads = threads_of(id);
  name(entry);
}

report::StackCount Lister::count_of(const report::StackEntry& stack) const {
  const report::BlockCount lost = stack.leaks ? stack.leaks->lost() : report::BlockCount{};
  return {.allocations = stack.allocations.counted(),
          .releases = stack.releases,
          .allocated_bytes = stack.allocated_bytes.counted(),
          .live_blocks = stack.live_blocks,
          .live_bytes = stack.own_live_bytes(),
          .reserved_bytes = stack.reserved_bytes().counted(),
          .temporary_allocations = stack.temporary_allocations.counted(),
          .lifetime_ns = stack.lifetime_ns,
          .live_since_ns = {live_since_ns_of(stack), !ledger_.gaps().events},
          .leaked_bytes = lost.bytes,
          .leaked_blocks = lost.blocks,
          .mapping = is_mapping(stack.id),
          .pooled = kind_of(stack.id) == model::EventKind::kPoolAllocate};
}

uint64_t Lister::live_since_ns_of(const report::StackEntry& stack) const {
  ledger::LiveSince sum;
  for (model::SiteId site = index_.first_site(stack.id); site != StackIndex::kNoSite; site = index_.next_site(site))
    sum += ledger_.live_since_of(site);
  return sum.mean_ns(stack.live_blocks.counted());
}

// One number for all kinds of sites of the same function and stack.
StackContent Lister::content_of(model::SiteId site) const {
  return site == ledger::kNoSite ? StackContent{} : index_.content_of(tables_.sites[site]);
}

void Lister::generate_suppressions(report::Report& report) const {
  std::vector<report::FramePath> whole(report.stacks.size());  // all frames, before the table is referred to
  const auto loses = [](const report::StackEntry& stack) { return stack.leaks && stack.leaks->may_be_lost(); };
  for (size_t i = 0; i < report.stacks.size(); ++i) {
    // Of others the frames beyond the listed ones are in the table of all documents, too.
    if (!loses(report.stacks[i]) && !(report.stacks[i].leaks && report.stacks[i].frames.is_cut)) continue;
    whole[i] = names_.list_path(tables_, tables_.sites[index_.first_site(report.stacks[i].id)].stack, 0);
  }
  std::vector<LeakToSuppress> leaks;
  const ModuleFiles files(tables_.modules);
  for (size_t i = 0; i < report.stacks.size(); ++i) {
    if (!loses(report.stacks[i])) continue;
    const model::Site& site = tables_.sites[index_.first_site(report.stacks[i].id)];
    const report::FrameList frames = names_.listed(whole[i]);
    const report::StackLeaks& found = *report.stacks[i].leaks;
    for (const auto& [state, count] : {std::pair{leaks::BlockState::kDefinite, found.definite},
                                       std::pair{leaks::BlockState::kIndirect, found.indirect},
                                       std::pair{leaks::BlockState::kPossible, found.possible}}) {
      if (count.blocks == 0) continue;
      leaks.push_back({{site.function, frames, &files}, state, count.blocks, count.bytes});
      const bool is_first = report.stack_suppressions.empty() || report.stack_suppressions.back().first != i;
      if (is_first)
        report.stack_suppressions.emplace_back(i, write_suppressions(*asked_.leaks.generate, {&leaks.back(), 1}));
    }
  }
  report.generated_suppressions = write_suppressions(*asked_.leaks.generate, leaks);
}

void Lister::list_errors(report::Report& report) const {
  std::map<std::tuple<ledger::ReleaseErrorKind, StackContent, StackContent, StackContent>, size_t> known;
  std::vector<ledger::ReleaseError> merged;
  for (const ledger::ReleaseError& error : ledger_.errors().all()) {
    const ledger::ReleaseErrorKey& key = error.key;
    const auto [found, added] = known.try_emplace(
        {key.kind, content_of(key.released_at), content_of(key.allocated_at), content_of(key.first_released_at)},
        merged.size());
    if (added) {
      merged.push_back(error);
    } else {
      merged[found->second].count += error.count;
    }
  }
  const bool accuses = !has_unwatched_functions(ledger_.totals());
  std::erase_if(merged, [accuses](const ledger::ReleaseError& error) {
    return error.count == 0 || (!accuses && error.key.kind != ledger::ReleaseErrorKind::kMismatched);
  });
  std::stable_sort(merged.begin(), merged.end(),
                   [](const ledger::ReleaseError& a, const ledger::ReleaseError& b) { return a.count > b.count; });
  for (const ledger::ReleaseError& error : merged) {
    report.errors.push_back(error_of(error));
  }
  report.errors_requested = !ledger_.gaps().events;
  report.errors_dropped = ledger_.errors().dropped();
}

report::ErrorEntry Lister::error_of(const ledger::ReleaseError& error) const {
  report::ErrorEntry::Origin released = origin_of(error.key.released_at, 0);
  report::ErrorEntry entry{.kind = kind_text(error.key.kind),
                           .function = std::move(released.function),
                           .variant = std::move(released.variant),
                           .address = error.address,
                           .count = error.count,
                           .frames = std::move(released.frames),
                           .end = released.end,
                           .is_short = released.is_short,
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

report::ErrorEntry::Origin Lister::origin_of(model::SiteId site, uint64_t size_bytes) const {
  const model::Site& entry = tables_.sites[site];
  const wire::FunctionFacts& function = wire::facts_of(entry.function);
  const StackShape shape = shape_of(tables_, entry.stack);
  return {.function = function.name,
          .variant = function.variant,
          .size_bytes = size_bytes,
          .frames = names_.list_frames(tables_, entry.stack, asked_.listing.frames.count()),
          .end = shape.end,
          .is_short = shape.end == wire::StackEnd::kDepthLimit && shape.depth <= 1};
}

void Lister::list_blocks(report::Report& report) const {
  struct Found {
    model::BlockNumber number;
    ledger::Block block;
  };
  std::vector<Found> found;
  found.reserve(ledger_.live_blocks());
  ledger_.for_each_block([&](model::BlockNumber number, const ledger::Block& block) {
    if (!ignored_.contains(tables_, tables_.sites[block.site].stack)) found.push_back({number, block});
  });
  keep_first(found, asked_.listing.limit, [](const Found& a, const Found& b) {
    return a.block.size_bytes != b.block.size_bytes ? a.block.size_bytes > b.block.size_bytes : a.number < b.number;
  });
  std::vector<report::BlockEntry> blocks;
  for (const auto& [number, block] : found) {
    const model::Site& site = tables_.sites[block.site];
    const report::FrameIndex caller = names_.list_telling_frame(tables_, site.stack);
    blocks.push_back({.number = number,
                      .address = block.address,
                      .size_bytes = block.size_bytes,
                      .allocated_at_ns = block.allocated_at_ns,
                      .thread = block.thread,
                      .stack_id = index_.id_of(block.site),
                      .function = wire::facts_of(site.function).name,
                      .caller = caller});
  }
  report.blocks = std::move(blocks);
}

}  // namespace heaptap::query
