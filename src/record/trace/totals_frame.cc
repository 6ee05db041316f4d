#include "record/trace/totals_frame.h"

#include <array>

namespace heaptap::trace {
namespace {

using model::SiteTotals;
using model::Totals;

// Totals of the whole process, in the order of the format; later versions append.
constexpr std::array kNumbers{&Totals::time_ns,          &Totals::peak_bytes,        &Totals::peak_blocks,
                              &Totals::double_releases,  &Totals::bad_releases,      &Totals::unclear_releases,
                              &Totals::unknown_releases, &Totals::unclear_temporary, &Totals::peak_error_bytes,
                              &Totals::peak_error_blocks};

// Totals of sites, a column each.
constexpr std::array kColumns{&SiteTotals::allocations,    &SiteTotals::allocated_bytes, &SiteTotals::releases,
                              &SiteTotals::released_bytes, &SiteTotals::temporary,       &SiteTotals::mismatched,
                              &SiteTotals::unkept_blocks};

// Maximum number of entries in a payload: each takes at least this many bytes.
bool read_count(wire::VarintReader& in, uint64_t entry_bytes, uint64_t& count) {
  count = in.varint();
  return in.ok() && count <= in.left() / entry_bytes;
}

bool read_sites(wire::VarintReader& in, const model::Tables& tables, Totals& totals) {
  uint64_t count = 0;
  if (!read_count(in, 2 + kColumns.size(), count)) return false;
  totals.sites.assign(count, SiteTotals{});
  int64_t site = 0;
  for (SiteTotals& entry : totals.sites) {
    site += in.signed_varint();
    if (site < 0 || static_cast<uint64_t>(site) >= tables.sites.size()) return false;
    entry.site = static_cast<model::SiteId>(site);
    if (tables.sites[entry.site].kind != model::EventKind::kAllocate) return false;
  }
  for (SiteTotals& entry : totals.sites) {
    const uint64_t thread = in.varint();
    if (thread > wire::kMaxThreads) return false;
    entry.thread = static_cast<model::ThreadId>(thread);
  }
  for (const auto column : kColumns) {
    for (SiteTotals& entry : totals.sites) entry.*column = in.varint();
  }
  for (const SiteTotals& entry : totals.sites) {
    if (entry.releases > entry.allocations || entry.released_bytes > entry.allocated_bytes) return false;
  }
  return in.ok();
}

}  // namespace

void write_totals(frames::ByteBuffer& out, const Totals& totals) {
  out.varint(kNumbers.size());
  for (const auto number : kNumbers) out.varint(totals.*number);
  out.varint(totals.sites.size());
  int64_t previous = 0;
  for (const SiteTotals& entry : totals.sites) {
    out.signed_varint(static_cast<int64_t>(entry.site) - previous);
    previous = entry.site;
  }
  for (const SiteTotals& entry : totals.sites) out.varint(entry.thread);
  for (const auto column : kColumns) {
    for (const SiteTotals& entry : totals.sites) out.varint(entry.*column);
  }
  out.varint(totals.threads.size());
  for (const model::ThreadReleases& entry : totals.threads) {
    out.varint(entry.thread);
    out.varint(entry.releases);
  }
  out.varint(totals.live_sizes.size());
  uint64_t size = 0;
  for (const model::LiveSize& entry : totals.live_sizes) {
    out.varint(entry.size_bytes - size);
    out.varint(entry.blocks);
    size = entry.size_bytes;
  }
}

bool read_totals(wire::VarintReader& in, const model::Tables& tables, Totals& totals) {
  totals = {};
  uint64_t count = 0;
  if (!read_count(in, 1, count)) return false;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t number = in.varint();
    if (i < kNumbers.size()) totals.*kNumbers[i] = number;
  }
  if (!read_sites(in, tables, totals)) return false;
  if (!read_count(in, 2, count)) return false;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t thread = in.varint();
    const uint64_t releases = in.varint();
    if (thread > wire::kMaxThreads) return false;
    totals.threads.push_back({static_cast<model::ThreadId>(thread), releases});
  }
  if (!read_count(in, 2, count)) return false;
  uint64_t size = 0;
  for (uint64_t i = 0; i < count; ++i) {
    size += in.varint();
    totals.live_sizes.push_back({size, in.varint()});
  }
  return in.ok();
}

}  // namespace heaptap::trace
