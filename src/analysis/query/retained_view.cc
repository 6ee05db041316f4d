// Retained sizes of blocks, stacks, types and variables: `show leaks --retained`, `--globals`.
#include "analysis/leaks/retained.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analysis/query/kept_by_libraries.h"
#include "analysis/query/listing.h"
#include "analysis/query/system_stacks.h"
#include "analysis/query/view_context.h"

namespace heaptap::query {
namespace {

report::BlockCount count_of(const leaks::BlockTotal& total) { return {total.blocks, total.bytes}; }

report::BlockCount less(report::BlockCount all, const report::BlockCount& part) {
  return {all.blocks - std::min(all.blocks, part.blocks), all.bytes - std::min(all.bytes, part.bytes)};
}

// Largest first, then in their original order.
std::vector<uint32_t> largest_first(std::vector<uint32_t> entries, size_t limit, auto bytes_of) {
  const auto less = [&](uint32_t a, uint32_t b) {
    return bytes_of(a) != bytes_of(b) ? bytes_of(a) > bytes_of(b) : a < b;
  };
  const auto end = entries.begin() + static_cast<ptrdiff_t>(limit);
  std::partial_sort(entries.begin(), end, entries.end(), less);
  entries.resize(limit);
  return entries;
}

void list_blocks(const ViewContext& context, const leaks::Dominators& dominators, report::Retained& made) {
  const model::HeapScan& scan = context.judged.scan;
  const model::Tables& tables = context.source.tables();
  std::vector<uint32_t> held;
  for (uint32_t i = 0; i < scan.blocks.size(); ++i) {
    const bool is_ignored = context.ignored.contains(tables, tables.sites[scan.blocks[i].site].stack);
    if (dominators.retained_blocks[i] != 0 && !is_ignored) held.push_back(i);
  }
  made.entry_count = held.size();
  const size_t limit = listed(context.query, held.size());
  for (const uint32_t i :
       largest_first(std::move(held), limit, [&](uint32_t block) { return dominators.retained_bytes[block]; })) {
    report::RetainedEntry& entry = made.entries.emplace_back();
    entry.block = context.blocks.block(scan, context.judged.counts, i);
    entry.own = {1, scan.blocks[i].size_bytes};
    entry.retained = {dominators.retained_blocks[i], dominators.retained_bytes[i]};
  }
}

void list_groups(const ViewContext& context, const std::vector<leaks::GroupTotal>& totals, report::Retained& made,
                 auto is_ignored, auto name) {
  std::vector<uint32_t> held;
  for (uint32_t i = 0; i < totals.size(); ++i) {
    if (totals[i].own.blocks != 0 && !is_ignored(i)) held.push_back(i);
  }
  made.entry_count = held.size();
  const size_t limit = listed(context.query, held.size());
  for (const uint32_t i :
       largest_first(std::move(held), limit, [&](uint32_t group) { return totals[group].retained.bytes; })) {
    report::RetainedEntry& entry = made.entries.emplace_back();
    entry.own = count_of(totals[i].own);
    entry.retained = count_of(totals[i].retained);
    name(i, entry);
  }
}

void list_stacks(const ViewContext& context, const leaks::Dominators& dominators, report::Retained& made) {
  const model::HeapScan& scan = context.judged.scan;
  std::vector<uint32_t> groups;
  groups.reserve(scan.blocks.size());
  for (const model::ScannedBlock& block : scan.blocks) {
    groups.push_back(static_cast<uint32_t>(context.index.id_of(block.site)));
  }
  const auto count = static_cast<uint32_t>(context.index.group_count() + 1);
  const auto name = [&](uint32_t id, report::RetainedEntry& entry) {
    entry.stack_id = id;
    if (id == 0) return;
    const model::SiteId site = context.index.first_site(id);
    entry.function = called_name(context.source.tables().sites[site].function);
    entry.caller = context.blocks.caller_of(site);
  };
  const model::Tables& tables = context.source.tables();
  const auto is_ignored = [&](uint32_t id) {
    return id != 0 && context.ignored.contains(tables, tables.sites[context.index.first_site(id)].stack);
  };
  list_groups(context, leaks::retained_by_groups(scan, dominators, groups, count), made, is_ignored, name);
}

void list_types(const ViewContext& context, const leaks::Dominators& dominators, report::Retained& made) {
  const model::HeapScan& scan = context.judged.scan;
  std::vector<std::string> types;
  std::map<std::string, uint32_t, std::less<>> known;
  std::map<std::pair<uint64_t, model::SiteId>, uint32_t> of_blocks;  // few, while blocks are many
  std::vector<uint32_t> groups;
  groups.reserve(scan.blocks.size());
  for (const model::ScannedBlock& block : scan.blocks) {
    const auto [place, is_new] = of_blocks.try_emplace({block.type, block.site});
    if (is_new) {
      const auto [type, is_first] =
          known.try_emplace(context.blocks.type_of(block), static_cast<uint32_t>(types.size()));
      if (is_first) types.push_back(type->first);
      place->second = type->second;
    }
    groups.push_back(place->second);
  }
  const auto name = [&](uint32_t type, report::RetainedEntry& entry) { entry.type = types[type]; };
  list_groups(
      context, leaks::retained_by_groups(scan, dominators, groups, static_cast<uint32_t>(types.size())), made,
      [](uint32_t) { return false; }, name);
}

// Numbered global variables of a scan, and the variable of each root pointer.
struct GlobalGroups {
  std::vector<report::NamedRoot> variables;
  std::vector<report::BlockCount> direct;
  std::vector<uint32_t> of_roots;
};

// Start of the variable that a word without a name belongs to: words close to each other that hold one block, as a list's head
// does, may be members of one variable, and count as one.
class UnnamedVariables {
 public:
  uint64_t start_of(const report::NamedRoot& word, uint32_t block) {
    constexpr uint64_t kMaxDistance = 64;
    const auto [first, is_first] = firsts_.try_emplace({word.module, block}, word.address);
    return word.address - first->second < kMaxDistance ? first->second : word.address;
  }

 private:
  std::map<std::pair<std::string, uint32_t>, uint64_t> firsts_;  // by module and block
};

GlobalGroups group_globals(const ViewContext& context) {
  const model::HeapScan& scan = context.judged.scan;
  GlobalGroups made;
  std::map<std::tuple<std::string, std::string, uint64_t>, uint32_t> known;
  UnnamedVariables unnamed;
  std::set<std::pair<uint32_t, uint32_t>> pointed;  // variable, block: several pointers between the two count once
  for (const model::RootPointer& root : scan.roots) {
    if (root.root != wire::RootKind::kGlobal || !context.query.asked.leaks.options.is_root(root.root)) {
      made.of_roots.push_back(leaks::kNoGroup);
      continue;
    }
    report::NamedRoot variable = context.blocks.root(root);
    const uint64_t begin = variable.name.empty() ? unnamed.start_of(variable, root.to) : root.address - variable.offset;
    const auto [place, is_new] =
        known.try_emplace({variable.module, variable.name, begin}, static_cast<uint32_t>(made.variables.size()));
    if (is_new) {
      if (!variable.name.empty()) variable.offset = 0;
      variable.address = begin;
      made.variables.push_back(std::move(variable));
      made.direct.emplace_back();
    }
    made.of_roots.push_back(place->second);
    if (pointed.emplace(place->second, root.to).second) {
      made.direct[place->second].add_block(scan.blocks[root.to].size_bytes);
    }
  }
  return made;
}

constexpr uint8_t kGlobalBit = wire::root_bit(wire::RootKind::kGlobal);

void count_by_owner(const model::HeapScan& scan, const std::vector<uint8_t>& kinds, report::Globals& made) {
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] == 0) continue;
    const uint64_t bytes = scan.blocks[i].size_bytes;
    made.reachable.add_block(bytes);
    switch (leaks::owner_among(kinds[i])) {
      case leaks::RootOwner::kGlobals:
        made.held.add_block(bytes);
        if (kinds[i] != kGlobalBit) made.elsewhere.add_block(bytes);
        break;
      case leaks::RootOwner::kThreadLocals:
        made.thread_locals.add_block(bytes);
        break;
      case leaks::RootOwner::kMappings:
        made.mappings.add_block(bytes);
        break;
      case leaks::RootOwner::kStacks:
        made.stacks.add_block(bytes);
        break;
    }
  }
}

// `places`: by group its entry's index.
void add_other_roots(const model::HeapScan& scan, const std::vector<uint8_t>& kinds,
                     const std::vector<uint32_t>& groups, const std::vector<uint32_t>& places,
                     std::vector<report::GlobalEntry>& entries) {
  std::vector<uint8_t> others(entries.size());
  for (size_t i = 0; i < kinds.size(); ++i) {
    const uint32_t place = groups[i] == leaks::kNoGroup ? leaks::kNoGroup : places[groups[i]];
    if (place == leaks::kNoGroup || (kinds[i] & ~kGlobalBit) == 0) continue;
    others[place] |= static_cast<uint8_t>(kinds[i] & ~kGlobalBit);
    entries[place].also.add_block(scan.blocks[i].size_bytes);
  }
  for (size_t place = 0; place < entries.size(); ++place) {
    for (unsigned kind = 0; kind < wire::kRootKindCount; ++kind) {
      if ((others[place] & wire::root_bit(static_cast<wire::RootKind>(kind))) != 0)
        entries[place].also_from.emplace_back(wire::kRootKindNames[kind]);
    }
  }
}

// `places`: by group its entry's index.
void mark_libraries(const ViewContext& context, const std::vector<uint32_t>& groups,
                    const std::vector<uint32_t>& places, std::vector<report::GlobalEntry>& entries) {
  const model::HeapScan& scan = context.judged.scan;
  const model::Tables& tables = context.source.tables();
  for (report::GlobalEntry& entry : entries) entry.of_libraries = true;
  std::map<model::SiteId, bool> known;
  for (size_t i = 0; i < groups.size(); ++i) {
    const uint32_t place = groups[i] == leaks::kNoGroup ? leaks::kNoGroup : places[groups[i]];
    if (place == leaks::kNoGroup || !entries[place].of_libraries) continue;
    if (model::is_earlier(scan.blocks[i].number)) {  // whose stack would tell
      entries[place].of_libraries = is_keeping_library(entries[place].variable.module);
      continue;
    }
    const auto [found, is_new] = known.try_emplace(scan.blocks[i].site);
    if (is_new) {
      const model::Site& site = tables.sites[scan.blocks[i].site];
      found->second = purpose_of(tables, site, context.names) != report::Purpose::kProgram;
    }
    entries[place].of_libraries = found->second;
  }
}

void name_sharing(const GlobalGroups& groups, const std::vector<leaks::BlockTotal>& sharing, report::Globals& made) {
  constexpr size_t kMaxNames = 6;
  std::vector<uint32_t> named;
  for (uint32_t i = 0; i < sharing.size(); ++i) {
    if (sharing[i].blocks != 0 && !groups.variables[i].name.empty()) named.push_back(i);
  }
  const size_t limit = std::min(named.size(), kMaxNames);
  for (const uint32_t i : largest_first(std::move(named), limit, [&](uint32_t each) { return sharing[each].bytes; })) {
    made.shared_by.push_back(groups.variables[i]);
  }
}

}  // namespace

report::Retained retained_view(const ViewContext& context) {
  const model::HeapScan& scan = context.judged.scan;
  const leaks::Dominators dominators = leaks::find_dominators(scan, context.query.asked.leaks.options);
  report::Retained made;
  for (size_t i = 0; i < scan.blocks.size(); ++i) {
    if (dominators.retained_blocks[i] != 0) made.held.add_block(scan.blocks[i].size_bytes);
  }
  switch (*context.query.asked.leaks.retained) {
    case RetainedBy::kBlock:
      made.by = "block";
      list_blocks(context, dominators, made);
      break;
    case RetainedBy::kStack:
      made.by = "stack";
      list_stacks(context, dominators, made);
      break;
    case RetainedBy::kType:
      made.by = "type";
      list_types(context, dominators, made);
      break;
  }
  return made;
}

report::Globals globals_view(const ViewContext& context) {
  const model::HeapScan& scan = context.judged.scan;
  const std::vector<uint8_t> kinds = leaks::held_by_kinds(scan, context.query.asked.leaks.options);
  report::Globals made;
  count_by_owner(scan, kinds, made);
  const GlobalGroups groups = group_globals(context);
  const auto count = static_cast<uint32_t>(groups.variables.size());
  leaks::LeakOptions only_globals = context.query.asked.leaks.options;
  only_globals.roots &= kGlobalBit;
  const leaks::RootGroups found = leaks::retained_by_roots(scan, groups.of_roots, count, only_globals);
  std::vector<uint32_t> holding;
  for (uint32_t i = 0; i < count; ++i) {
    made.unlisted += count_of(found.retained[i]);
    if (found.retained[i].blocks != 0) holding.push_back(i);
  }
  made.shared = less(made.held, made.unlisted);
  made.entry_count = holding.size();
  const size_t limit = listed(context.query, holding.size());
  std::vector<uint32_t> places(count, leaks::kNoGroup);
  for (const uint32_t i :
       largest_first(std::move(holding), limit, [&](uint32_t each) { return found.retained[each].bytes; })) {
    places[i] = static_cast<uint32_t>(made.entries.size());
    made.entries.push_back({groups.variables[i], groups.direct[i], count_of(found.retained[i]), {}, {}, false});
    made.unlisted = less(made.unlisted, made.entries.back().retained);
  }
  add_other_roots(scan, kinds, found.of_blocks, places, made.entries);
  mark_libraries(context, found.of_blocks, places, made.entries);
  name_sharing(groups, found.sharing, made);
  return made;
}

}  // namespace heaptap::query
