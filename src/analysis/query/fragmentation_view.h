// Resident memory of a leak scan in a report: its parts, and fragmentation. Private to analysis/.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/query/page_division.h"
#include "analysis/query/view_context.h"
#include "analysis/report/fragmentation.h"
#include "analysis/report/resident.h"
#include "common/model/heap_scan.h"

namespace heaptap::query {

// None: unknown.
std::optional<report::ResidentParts> resident_parts_of(const model::HeapScan& scan);

// The allocator's resident memory by arena, and what the blocks of each site keep in it.
struct SiteKeep {
  report::BlockCount live = {};
  uint64_t pages = 0;
  uint64_t kept_bytes = 0;
  report::BlockCount unplaced = {};
};
struct Keeps {
  std::vector<report::ArenaUse> arenas;  // most resident memory first
  std::vector<SiteKeep> sites;           // by site
};
// `page_bytes`: of the process's machine. None: unknown.
std::optional<Keeps> keeps_of(const model::HeapScan& scan, uint64_t page_bytes);

// Whether pages of this size can be counted: a trace may claim any.
bool is_counted_page_size(uint64_t page_bytes);
// Adds the pages of each site, and what it keeps in them.
PageDivision::Take keep_in(std::vector<SiteKeep>& sites);

// Stacks that pass the filters, as many as are listed. Sets how many there are.
struct KeepLists {
  const model::Tables& tables;
  const ResolvedQuery& query;
  StackNames& names;
  IgnoredStacks& ignored;
  const StackIndex& index;
};
std::vector<report::StackKeep> list_keeps(const KeepLists& lists, std::span<const SiteKeep> sites, uint64_t& count);

// None: unknown.
std::optional<report::Fragmentation> fragmentation_view(const ViewContext& context);

}  // namespace heaptap::query
