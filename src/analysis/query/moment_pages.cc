#include "analysis/query/moment_pages.h"

#include <algorithm>

#include "common/base/units.h"

namespace heaptap::query {
namespace {

struct Extent {
  uint64_t address;
  uint64_t size_bytes;
  model::SiteId site;
};

SiteKeep& keep_of(std::vector<SiteKeep>& sites, model::SiteId site) {
  if (site >= sites.size()) sites.resize(size_t{site} + 1);
  return sites[site];
}

class PeakSink : public model::EventSink {
 public:
  explicit PeakSink(const model::Capture& capture)
      : ledger_({.time_resolution_ns = capture.time_resolution_ns,
                 .statistics = false,
                 .details = false,
                 .sample_interval = capture.sample_interval}) {}
  void on_batch(const model::EventBatch& batch, const model::Tables& tables) override { ledger_.add(batch, tables); }
  void on_totals(const model::Totals& /*totals*/, const model::Tables& /*tables*/) override { has_totals_ = true; }
  [[nodiscard]] const ledger::Ledger& ledger() const { return ledger_; }
  [[nodiscard]] bool has_totals() const { return has_totals_; }

 private:
  ledger::Ledger ledger_;
  bool has_totals_ = false;
};

// The scan that is nearest in time.
void set_nearest_scan(report::MomentPages& pages, const std::vector<model::ScanSummary>& scans) {
  const auto distance = [&pages](const model::ScanSummary& scan) {
    return std::max(scan.facts.time_ns, pages.time_ns) - std::min(scan.facts.time_ns, pages.time_ns);
  };
  const auto nearest = std::ranges::min_element(scans, {}, distance);
  if (nearest == scans.end()) return;
  pages.nearest_scan = nearest->facts.number;
  pages.nearest_scan_ns = nearest->facts.time_ns;
}

base::Result<> check_moment(const report::Report& report, const ResolvedQuery& query, const ledger::Ledger& ledger) {
  const Moment& moment = query.span.last;
  const std::string& text = query.asked.window.to;
  const uint64_t end_ns = report.end_ns();
  if (moment.event ? *moment.event > ledger.event_count() : moment.time_ns != kEndNs && moment.time_ns > end_ns) {
    if (report.capture.truncated) {
      return base::fail_as(base::ErrorKind::kUsage, "--to {}: the trace is cut off before, after {}", text,
                           base::format_duration(end_ns));
    }
    return base::fail_as(base::ErrorKind::kUsage, "--to {}: the recording ends before, after {}", text,
                         base::format_duration(end_ns));
  }
  return {};
}

}  // namespace

PlacedBlocks place_blocks(const ledger::Ledger& ledger, uint64_t page_bytes) {
  PlacedBlocks blocks;
  std::vector<Extent> extents;
  ledger.for_each_block([&](model::BlockNumber /*number*/, const ledger::Block& block) {
    SiteKeep& keep = keep_of(blocks.sites, block.site);
    if (block.address != 0) {
      extents.push_back({block.address, block.size_bytes, block.site});
      return;
    }
    keep.unplaced.add_block(block.size_bytes);
    blocks.unplaced.add_block(block.size_bytes);
  });
  std::ranges::sort(extents, {}, &Extent::address);
  PageDivision division(page_bytes, blocks.sites.size(), keep_in(blocks.sites));
  uint64_t next = 0;  // the first address that hasn't been counted
  for (const Extent& extent : extents) {
    // A trace may claim any address and size, and blocks that overlap.
    const uint64_t end = extent.address + std::min(extent.size_bytes, ~extent.address);
    const bool is_within_others = end < next || (end == next && extent.size_bytes != 0);
    const base::AddressRange part{is_within_others ? end : std::max(extent.address, next), end};
    blocks.sites[extent.site].live.add_block(part.size());
    blocks.placed.add_block(part.size());
    if (is_within_others) continue;
    next = end;
    const PageDivision::Touched touched = division.add(part, extent.site);
    blocks.sites[extent.site].pages += touched.full_pages;
    blocks.pages += touched.pages;
  }
  division.finish();
  for (const SiteKeep& keep : blocks.sites) blocks.rest_bytes += keep.kept_bytes;
  return blocks;
}

base::Result<Moment> find_peak(model::EventSource& source) {
  PeakSink sink(source.capture());
  HEAPTAP_TRY(source.replay(sink, {}));
  if (sink.has_totals()) {
    return base::fail_as(base::ErrorKind::kUsage,
                         "--from and --to need times, which --aggregate doesn't keep: when the peak was is unknown");
  }
  const ledger::Ledger& ledger = sink.ledger();
  if (ledger.peak_event() == 0) {
    return base::fail_as(base::ErrorKind::kUsage, "peak: no block was allocated in this recording");
  }
  return Moment{.time_ns = ledger.totals().peak_time_ns, .event = ledger.peak_event(), .is_peak = true};
}

base::Result<> fill_moment_pages(report::Report& report, const model::EventSource& source, const KeepLists& lists,
                                 const ledger::Ledger& ledger) {
  using At = report::MomentPages::At;
  HEAPTAP_TRY(check_moment(report, lists.query, ledger));
  if (report.capture.sample_interval != 0) {
    return base::fail(
        "show fragmentation: recorded with --sample, which has the addresses of some blocks only; record "
        "again without it");
  }
  const uint64_t page_bytes = report.capture.page_bytes;
  if (!is_counted_page_size(page_bytes)) return {};
  const Moment& moment = lists.query.span.last;
  const bool is_end = moment.time_ns == kEndNs;
  PlacedBlocks blocks = place_blocks(ledger, page_bytes);
  report::MomentPages& pages = report.moment_pages.emplace();
  pages.at = is_end ? At::kEnd : moment.is_peak ? At::kPeak : moment.event ? At::kMark : At::kTime;
  pages.time_ns = is_end ? report.end_ns() : moment.time_ns;
  pages.page_bytes = page_bytes;
  pages.knows_all_releases = report.known.follows;
  pages.knows_all_blocks = report.known.saw_all && report.capture.from_start;
  pages.placed = blocks.placed;
  pages.unplaced = blocks.unplaced;
  pages.pages = blocks.pages;
  pages.rest_bytes = blocks.rest_bytes;
  pages.stacks = list_keeps(lists, blocks.sites, pages.stack_count);
  set_nearest_scan(pages, source.scans());
  return {};
}

}  // namespace heaptap::query
