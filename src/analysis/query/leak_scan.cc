#include "analysis/query/leak_scan.h"

#include <algorithm>
#include <map>
#include <thread>

#include "analysis/findings/note_text.h"
#include "analysis/query/system_stacks.h"

namespace heaptap::query {
namespace {

base::Result<size_t> index_of(const model::EventSource& source, uint32_t number) {
  const std::vector<model::ScanSummary>& scans = source.scans();
  if (number == 0) return scans.size() - 1;
  const auto found = std::find_if(scans.begin(), scans.end(),
                                  [&](const model::ScanSummary& scan) { return scan.facts.number == number; });
  if (found != scans.end()) return static_cast<size_t>(found - scans.begin());
  return base::fail_as(base::ErrorKind::kUsage, "--scan {}: the trace has {} scan{}{}", number, scans.size(),
                       scans.size() == 1 ? "" : "s",
                       scans.empty() ? "; `heaptap leaks PID` makes one while the program runs" : "");
}

std::unexpected<base::Error> no_scan(const model::EventSource& source, const ResolvedQuery& query) {
  if (const std::string& tool = source.capture().import.tool; !tool.empty()) {
    return base::fail("no leak scan in {}'s file: `heaptap run` makes one at the program's end", tool);
  }
  std::string why;
  for (const std::string& note : findings::sentences_of(source.scan_notes())) why += "; " + note;
  return base::fail(
      "the trace has no leak scan{}: `heaptap run` makes one at the program's end (not with --no-leak-scan, "
      "--aggregate or --sample), `heaptap "
      "leaks PID` makes one while it runs{}",
      why,
      query.fragmentation && source.capture().sample_interval == 0
          ? "; without one, `show fragmentation --to MOMENT` divides the live blocks among pages"
          : "");
}

// Whether a block that isn't live in the ledger was surely released.
bool knows_releases(const model::EventSource& source, const ResolvedQuery& query, const ledger::Ledger& ledger) {
  return query.asked.counting.events && !ledger.gaps().events && !source.capture().truncated;
}

// Only blocks of malloc: those of pools have separate numbers, which the ledger doesn't keep.
bool was_released_since(const ledger::Ledger& ledger, const model::ScannedBlock& block) {
  return model::has_event(block.number) && !ledger.is_alive(block.number);
}

// The loader's own blocks aren't leaks of the program. It keeps many by interior pointers, some of them in memory of
// finished threads (tables of thread-local storage, until the next thread reuses them).
std::vector<uint8_t> loader_sites(const model::Tables& tables) {
  constexpr uint8_t kNotAsked = 2;
  std::vector<uint8_t> codes(tables.codes.size(), kNotAsked);
  const auto is_of_loader = [&](model::CodeId code) {
    if (codes[code] == kNotAsked) {
      const model::Module* module = tables.module_of(tables.codes[code]);
      codes[code] = module != nullptr && is_only_loader(module->path) ? 1 : 0;
    }
    return codes[code];
  };
  std::vector<uint8_t> sites(tables.sites.size(), 0);
  for (size_t i = 0; i < sites.size(); ++i) {
    const model::StackId stack = tables.sites[i].stack;
    if (stack >= wire::kRootCount) sites[i] = is_of_loader(tables.stacks[stack].code);
  }
  return sites;
}

// Entries after damage aren't in the tables.
bool knows_sites(const model::Tables& tables, const model::HeapScan& scan) {
  return std::all_of(scan.blocks.begin(), scan.blocks.end(),
                     [&](const model::ScannedBlock& block) { return block.site < tables.sites.size(); });
}

// The site's whole stack counts, even if only a part is shown.
LeakCounts::Suppressor suppressor_of(const Suppressions& suppressions, const model::Tables& tables, StackNames& names) {
  return [&, files = ModuleFiles(tables.modules)](model::SiteId site, leaks::BlockState state) {
    const model::Site& entry = tables.sites[site];
    const std::vector<model::Frame> frames = names.frames_of(tables, entry.stack, 0);
    const auto found = suppressions.find({entry.function, frames, &files}, state);
    return found ? static_cast<uint32_t>(*found) : LeakCounts::kNotSuppressed;
  };
}

// Suppressions for reachable blocks can't hide a leak, so unused ones aren't reported.
void list_suppressions(report::Leaks& leaks, const Suppressions& suppressions, const LeakCounts& counts) {
  for (size_t i = 0; i < suppressions.list().size(); ++i) {
    const Suppression& entry = suppressions.list()[i];
    const report::BlockCount hidden = counts.hidden_by(static_cast<uint32_t>(i));
    const std::string place = fmt::format("{}:{}", entry.file, entry.line);
    if (hides_everything(entry)) leaks.broad_suppressions.push_back(fmt::format("{}: {}", place, entry.name));
    if (hidden.blocks != 0) {
      leaks.suppressions.push_back({place, entry.name, hidden});
    } else if ((entry.states & ~leak_bit(leaks::BlockState::kReachable)) != 0) {
      leaks.unused_suppressions.push_back(fmt::format("{}: {}", place, entry.name));
    }
  }
}

}  // namespace

bool needs_scan(const ResolvedQuery& query) {
  const LeakQuestion& question = query.asked.leaks;
  return question.generate || question.why || question.retained || question.globals || question.scan_list ||
         query.fragmentation || question.since != 0;
}

ScanAhead::ScanAhead(model::EventSource& source, const ResolvedQuery& query) {
  if (!query.asked.leaks.scans || source.scans().empty()) return;
  const auto index = index_of(source, query.scan);
  if (!index) return;
  const auto when = std::thread::hardware_concurrency() > 1 ? std::launch::async : std::launch::deferred;
  scan_ = std::async(when, [&source, index = *index, options = query.asked.leaks.options]() -> base::Result<Reached> {
    auto scan = source.load_scan(index);
    if (!scan) return std::unexpected(std::move(scan).error());
    auto states = leaks::reach(*scan, options);
    return Reached{*std::move(scan), std::move(states)};
  });
}

base::Result<ScanAhead::Reached> ScanAhead::take() { return scan_.get(); }

base::Result<std::unique_ptr<JudgedLeaks>> judge_leaks(model::EventSource& source, const ResolvedQuery& query,
                                                       StackNames& names, IgnoredStacks& ignored,
                                                       const ledger::Ledger& ledger, ScanAhead& ahead) {
  if (!query.asked.leaks.scans) return nullptr;
  if (source.scans().empty() && needs_scan(query)) return no_scan(source, query);
  if (source.scans().empty() && query.scan == 0) return nullptr;
  const auto index = index_of(source, query.scan);
  if (!index) return std::unexpected(index.error());
  auto reached = ahead.take();
  if (!reached) return std::unexpected(std::move(reached).error());
  model::HeapScan& scan = reached->scan;
  const model::Tables& tables = source.tables();
  if (source.capture().truncated && !knows_sites(tables, scan)) {
    return base::fail("leak scan {} can't be used: the trace is damaged before it ({})", scan.number,
                      source.capture().damage);
  }
  LeakCounts::Rules rules{.options = query.asked.leaks.options};
  rules.options.held_sites = loader_sites(tables);
  if (names.filters()) {
    rules.counts = [&](model::SiteId site) { return names.passes(tables, tables.sites[site]); };
  }
  if (!query.suppressions.empty()) rules.suppressor = suppressor_of(query.suppressions, tables, names);
  if (ignored.any()) {
    rules.ignores = [&](model::SiteId site) { return ignored.contains(tables, tables.sites[site].stack); };
  }
  const model::ScanSummary& summary = source.scans()[*index];
  if (query.asked.filter.thread != 0 || query.asked.window.is_given()) {
    rules.counts_block = [&](const model::ScannedBlock& block) { return ledger.is_alive(block.number); };
  } else if (summary.facts.reason == model::ScanReason::kEnd && knows_releases(source, query, ledger)) {
    rules.was_released = [&](const model::ScannedBlock& block) { return was_released_since(ledger, block); };
  }
  LeakCounts counts(scan, rules, std::move(reached->states));
  return std::unique_ptr<JudgedLeaks>(new JudgedLeaks{summary, std::move(scan), std::move(counts)});
}

report::ScanFacts facts_of(const model::ScanSummary& summary) {
  const model::HeapScan& facts = summary.facts;
  return {.number = facts.number,
          .at_end = facts.reason == model::ScanReason::kEnd,
          .at_exit_start = facts.reason == model::ScanReason::kExitBegins,
          .time_ns = facts.time_ns,
          .stopped_ns = facts.stopped_ns,
          .total_ns = facts.total_ns,
          .read_bytes = facts.read_bytes,
          .skipped_bytes = facts.skipped_bytes,
          .threads = facts.threads,
          .blocks = summary.block_count,
          .pointers = summary.pointer_count,
          .stored_bytes = summary.stored_bytes,
          .notes = facts.notes};
}

std::vector<report::KeptByLibrary> count_kept(const JudgedLeaks& judged, const model::Tables& tables,
                                              StackNames& names) {
  std::map<report::Purpose, report::KeptByLibrary> known;
  for (model::SiteId site = 0; site < tables.sites.size(); ++site) {
    const report::StackLeaks* const leaks = judged.counts.of(site);
    if (leaks == nullptr || leaks->reachable.blocks + leaks->possible.blocks == 0) continue;
    const report::Purpose purpose = purpose_of(tables, tables.sites[site], names);
    if (purpose == report::Purpose::kProgram) continue;
    report::KeptByLibrary& kept = known.try_emplace(purpose, purpose).first->second;
    kept.reachable += leaks->reachable;
    kept.possible += leaks->possible;
  }
  std::vector<report::KeptByLibrary> all;
  for (const auto& [purpose, kept] : known) all.push_back(kept);
  report::sort_kept(all);
  return all;
}

void fill(report::Leaks& leaks, const JudgedLeaks& judged, size_t scan_count, const Suppressions& suppressions) {
  judged.counts.fill(leaks);
  list_suppressions(leaks, suppressions, judged.counts);
  leaks.scan_count = static_cast<uint32_t>(scan_count);
  leaks.scan = facts_of(judged.summary);
}

}  // namespace heaptap::query
