#include "analysis/query/analyze.h"

#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "analysis/findings/machinery.h"
#include "analysis/ledger/ledger.h"
#include "analysis/query/activity_view.h"
#include "analysis/query/entries.h"
#include "analysis/query/fragmentation_view.h"
#include "analysis/query/ignored_stacks.h"
#include "analysis/query/known.h"
#include "analysis/query/leak_scan.h"
#include "analysis/query/likely_modules.h"
#include "analysis/query/listing.h"
#include "analysis/query/lost_cycles.h"
#include "analysis/query/moment_pages.h"
#include "analysis/query/not_recorded.h"
#include "analysis/query/resident_view.h"
#include "analysis/query/resolved_query.h"
#include "analysis/query/stack_names.h"
#include "analysis/query/view_context.h"
#include "analysis/query/window.h"
#include "analysis/report/growth.h"
#include "analysis/report/skipped_names.h"
#include "common/base/check.h"
#include "common/base/command_search.h"
#include "common/base/units.h"

namespace heaptap::query {
namespace {

constexpr size_t kMaxGraphNodes = 300;
constexpr size_t kMaxStackHolders = 60;
constexpr size_t kMaxPages = 16384;
constexpr size_t kMaxHints = 64;

// Ledgers of a replay: one of all events that pass the filters, for totals and lists of stacks and blocks; if stacks are ignored,
// one without these, for the other lists; and, where pages are asked for, one of all blocks.
class Ledgers {
 public:
  Ledgers(ledger::LedgerOptions options, IgnoredStacks& ignored, bool needs_all = false) : whole_(options) {
    if (needs_all && options.filter.wants_site) {
      ledger::LedgerOptions all = options;
      all.filter.wants_site = {};
      all.statistics = all.activity = false;
      all_ = std::make_unique<ledger::Ledger>(all);
    }
    if (!ignored.any() || !options.statistics) return;
    options.activity = false;
    options.filter.wants_site = [&ignored, filtered = options.filter.wants_site](const model::Tables& tables,
                                                                                 model::SiteId site) {
      const model::Site& entry = tables.sites[site];
      return (!filtered || filtered(tables, site)) &&
             !(model::allocates(entry.kind) && ignored.contains(tables, entry.stack));
    };
    shown_ = std::make_unique<ledger::Ledger>(options);
  }

  void add(const model::EventBatch& batch, const model::Tables& tables) {
    whole_.add(batch, tables);
    if (shown_ != nullptr) shown_->add(batch, tables);
    if (all_ != nullptr) all_->add(batch, tables);
  }
  void add_totals(const model::Totals& totals, const model::Tables& tables) {
    whole_.add_totals(totals, tables);
    if (shown_ != nullptr) shown_->add_totals(totals, tables);
  }

  [[nodiscard]] const ledger::Ledger& whole() const { return whole_; }
  [[nodiscard]] const ledger::Ledger& shown() const { return shown_ != nullptr ? *shown_ : whole_; }
  [[nodiscard]] const ledger::Ledger& all() const { return all_ != nullptr ? *all_ : whole_; }

 private:
  ledger::Ledger whole_;
  std::unique_ptr<ledger::Ledger> shown_;
  std::unique_ptr<ledger::Ledger> all_;
};

class LedgerSink : public model::EventSink {
 public:
  // `names`: the files whose symbols are opened while the ledger counts; null: none. `all_over`: see
  // Resolver::open_ahead.
  LedgerSink(Ledgers& ledger, StackNames* names, bool all_over) : ledger_(ledger), names_(names), all_over_(all_over) {}
  void on_batch(const model::EventBatch& batch, const model::Tables& tables) override {
    if (names_ != nullptr && ++batches_ == kTypicalAfter) {
      names_->resolver().open_ahead(modules_of_most_stacks(tables), all_over_ && tables.sites.size() > kManySites);
    }
    ledger_.add(batch, tables);
  }
  void on_totals(const model::Totals& totals, const model::Tables& /*tables*/) override { totals_ = totals; }
  // After the later of the two.
  void finish(const model::Tables& tables) {
    if (totals_) ledger_.add_totals(*totals_, tables);
  }
  [[nodiscard]] const std::optional<model::Totals>& totals() const { return totals_; }

 private:
  // Batches: the first ones have the allocations before main().
  static constexpr size_t kTypicalAfter = 16;
  static constexpr size_t kManySites = 256;  // fewer addresses are close together in a file

  Ledgers& ledger_;
  StackNames* names_;
  bool all_over_;
  size_t batches_ = 0;
  std::optional<model::Totals> totals_;
};

// Data that totals don't have.
base::Result<> check_totals(const model::Totals& totals, const Query& query) {
  if (query.window.is_given()) {
    return base::fail_as(base::ErrorKind::kUsage, "--from and --to need times, which --aggregate doesn't keep");
  }
  const bool shared = std::any_of(totals.sites.begin(), totals.sites.end(),
                                  [](const model::SiteTotals& entry) { return entry.thread == 0; });
  if (query.filter.thread != 0 && shared) {
    return base::fail_as(base::ErrorKind::kUsage,
                         "--thread: recorded with --aggregate, whose memory was too small to keep all threads apart; "
                         "use a larger --aggregate-memory");
  }
  return {};
}

ledger::LedgerOptions ledger_options(const model::Capture& capture, const Query& query, const Span& span,
                                     StackNames& names, bool addresses) {
  ledger::LedgerOptions options{.time_resolution_ns = capture.time_resolution_ns,
                                .page_bytes = capture.page_bytes,
                                .statistics = query.counting.statistics,
                                .details = query.counting.lifetimes || query.listing.sort == SortKey::kTime ||
                                           query.counting.activity || addresses,
                                .activity = query.counting.activity || query.counting.from_all_sides,
                                .sample_interval = capture.sample_interval};
  options.filter.thread = query.filter.thread;
  options.filter.start_ns = span.first.time_ns;
  // A mark's time is not exact, its position among the events is.
  if (span.first.event) {
    options.filter.from_event = *span.first.event;
  } else {
    options.filter.from_ns = span.first.time_ns;
  }
  if (span.last.event) {
    options.filter.to_event = *span.last.event;
  } else {
    options.filter.to_ns = span.last.time_ns;
  }
  if (names.filters()) {
    options.filter.wants_site = [&names](const model::Tables& tables, model::SiteId site) {
      return names.passes(tables, tables.sites[site]);
    };
  }
  return options;
}

std::string filter_text(const ResolvedQuery& query) {
  const Filter& filter = query.asked.filter;
  std::string text;
  const auto append = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (!filter.function.empty()) append("function " + filter.function);
  if (!filter.module.empty()) append("module " + filter.module);
  for (const std::string& tag : filter.tags) append("tag " + tag);
  if (filter.thread != 0) append(fmt::format("thread {}", filter.thread));
  const auto append_moment = [&append](const char* word, const std::string& name, const Moment& moment) {
    const std::string time = moment.is_earlier ? "earlier" : base::format_duration(moment.time_ns);
    append(word + (moment.is_peak ? fmt::format("the peak ({})", time)
                   : moment.event ? fmt::format("mark {} ({})", name, time)
                                  : time));
  };
  const auto& [first, last] = query.span;
  if (first.time_ns != 0 || first.event) append_moment("from ", query.asked.window.from, first);
  if (last.time_ns != kEndNs) append_moment("to ", query.asked.window.to, last);
  return text;
}

void list_statistics(report::Report& report, const ledger::Ledger& ledger, const model::Tables& tables) {
  if (report.sizes) report.sizes = sizes_of(ledger);
  report.lifetimes = lifetimes_of(ledger);
  report.timeline = timeline_of(ledger);
  report.timeline_start_ns = ledger.timeline().start_ns();
  report.threads = threads_of(ledger, tables);
}

// Names given by the program; of several the last one.
void give_names(std::vector<report::BlockEntry>& blocks, const std::vector<model::BlockName>& names) {
  if (names.empty()) return;
  std::unordered_map<model::BlockNumber, const std::string*> known;
  for (const model::BlockName& name : names) known[name.block] = &name.name;
  for (report::BlockEntry& block : blocks) {
    if (const auto found = known.find(block.number); found != known.end()) block.name = *found->second;
  }
}

// In most programs the blocks live at the end are their own. If they are few, they are those of the C library's
// functions, with names from all over its debug file.
bool leaves_little(const model::EventSource& source) {
  constexpr uint64_t kLittle = 1000;
  return !source.scans().empty() && source.scans().back().block_count < kLittle;
}

base::Result<std::unique_ptr<Ledgers>> replay(model::EventSource& source, const ResolvedQuery& query, StackNames& names,
                                              IgnoredStacks& ignored, bool addresses) {
  const Query& asked = query.asked;
  auto ledger = std::make_unique<Ledgers>(ledger_options(source.capture(), asked, query.span, names, addresses),
                                          ignored, query.fragmentation_at_moment);
  // If stacks are surely listed, and completely.
  const bool lists_stacks = asked.listing.stacks && !query.leaks_only && asked.listing.frames.depth == 0;
  const bool opens_files = lists_stacks && !asked.symbols.debuginfod;
  LedgerSink sink(*ledger, opens_files ? &names : nullptr, leaves_little(source));
  HEAPTAP_TRY(
      source.replay(sink, {.events = asked.counting.events, .addresses = addresses, .progress = asked.progress}));
  if (sink.totals()) HEAPTAP_TRY(check_totals(*sink.totals(), asked));
  sink.finish(source.tables());
  return ledger;
}

// Keeping addresses is expensive, and few traces have mismatched releases: those are read a second time.
base::Result<std::unique_ptr<Ledgers>> replay_as_asked(model::EventSource& source, const ResolvedQuery& query,
                                                       StackNames& names, IgnoredStacks& ignored) {
  const Query& asked = query.asked;
  const bool addresses = asked.listing.blocks || asked.counting.from_all_sides || query.fragmentation_at_moment;
  auto ledger = replay(source, query, names, ignored, addresses);
  if (ledger && asked.listing.errors && !addresses && !(*ledger)->whole().gaps().events &&
      (*ledger)->whole().totals().mismatched_releases != 0) {
    return replay(source, query, names, ignored, true);
  }
  return ledger;
}

template <typename View>
base::Result<> store(base::Result<View> made, std::optional<View>& place) {
  if (!made) return std::unexpected(std::move(made).error());
  place = *std::move(made);
  return {};
}

// The requested views of a scan.
base::Result<> fill_views(report::Report& report, model::EventSource& source, const ResolvedQuery& query,
                          StackNames& names, IgnoredStacks& ignored, const ledger::Ledger& ledger,
                          const StackIndex& index, const JudgedLeaks& judged) {
  const Query& asked = query.asked;
  const bool any = asked.leaks.why || asked.leaks.retained || query.globals || asked.leaks.scan_list ||
                   asked.leaks.since != 0 || query.fragmentation || asked.counting.from_all_sides;
  const bool has_holders = report::leaks_for_certain(report.leaks) && has_exit_start(source, judged);
  if (!any && !has_holders) return {};
  BlockNames blocks(source.capture(), source.tables(), source.block_names(), index, names);
  const ViewContext context{source, query, names, ignored, ledger, index, judged, blocks};
  if (has_holders) fill_exit_holders(context, report);
  if (asked.leaks.why) HEAPTAP_TRY(store(holders_view(context), report.holders));
  if (asked.leaks.retained) report.retained = retained_view(context);
  if (query.globals) report.globals = globals_view(context);
  if (asked.counting.from_all_sides) {
    const StackRows rows(report, index);
    report.stack_graph = stack_graph_view(context, rows, kMaxGraphNodes);
    report.stack_holders = stack_holders_view(context, report, kMaxStackHolders);
  }
  if (query.fragmentation) report.fragmentation = fragmentation_view(context);
  if (asked.leaks.scan_list) HEAPTAP_TRY(store(scan_list_view(context), report.scans));
  if (asked.leaks.since != 0) HEAPTAP_TRY(store(scan_changes_view(context), report.scan_changes));
  return {};
}

std::vector<uint64_t> live_bytes_of(const ledger::Ledger& ledger) {
  std::vector<uint64_t> bytes;
  for (const ledger::TimelineBin& bin : ledger.timeline_bins()) bytes.push_back(bin.at_end.live_bytes);
  return bytes;
}

// The module whose symbols would name most of the unnamed frames listed; none if all have names.
std::vector<model::SymbolHint> hints_for(const std::vector<model::Frame>& listed, const StackNames& names) {
  std::vector<model::SymbolHint> hints = names.hints(kMaxHints);
  // Unknown inlined frames can't be detected.
  const auto would_help = [&listed](const model::SymbolHint& hint) {
    const bool helps_all = hint.lack == model::SymbolHint::Lack::kParts;
    return std::ranges::any_of(listed, [&](const model::Frame& frame) {
      return frame.module == hint.path && (helps_all || frame.function.empty() || frame.file.empty()) &&
             !findings::is_machinery(frame) && !findings::is_startup(frame);
    });
  };
  const auto first = std::ranges::find_if(hints, would_help);
  if (first == hints.end()) return {};
  first->finds_packages = base::is_command("find-dbgsym-packages");
  return {std::move(*first)};
}

std::optional<report::Window> window_of(const ResolvedQuery& query, const ledger::Ledger& ledger) {
  if (!query.asked.window.is_given()) return std::nullopt;
  const ledger::OlderReleases& older = ledger.older_releases();
  return report::Window{.from = query.asked.window.from,
                        .to = query.asked.window.to,
                        .from_ns = query.span.first.time_ns,
                        .to_ns = query.span.last.time_ns,
                        .from_is_earlier = query.span.first.is_earlier,
                        .to_is_earlier = query.span.last.is_earlier,
                        .has_older = ledger.knows_older(),
                        .older_released_blocks = older.blocks,
                        .older_released_bytes = older.bytes,
                        .growth = {.blocks = static_cast<int64_t>(ledger.totals().live_blocks() - older.blocks),
                                   .bytes = static_cast<int64_t>(ledger.totals().live_bytes - older.bytes)}};
}

// The module whose code released most of the blocks allocated by functions that aren't intercepted.
model::Note unwatched_note(const ledger::Ledger& ledger, const model::Tables& tables) {
  std::map<const model::Module*, uint64_t> counts;
  for (const ledger::ReleaseError& error : ledger.errors().all()) {
    if (error.key.kind == ledger::ReleaseErrorKind::kMismatched) continue;
    const model::StackId stack = tables.sites[error.key.released_at].stack;
    if (stack < wire::kRootCount) continue;  // without frames
    const model::Module* const module = tables.module_of(tables.codes[tables.stacks[stack].code]);
    if (module != nullptr) counts[module] += error.count;
  }
  const auto most = std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; });
  const bool is_known = most != counts.end();
  return {.kind = model::NoteKind::kUnwatchedFunctions,
          .numbers = {totals_of(ledger).unwatched_releases},
          .module = is_known ? most->first->path : std::string()};
}

// Factories of report parts that may be cached.
struct Makers {
  std::function<base::Result<std::shared_ptr<const JudgedLeaks>>()> judge;
  std::function<std::shared_ptr<const StackIndex>()> index;  // possibly called in another thread
};

// Report without lists and leaks.
report::Report figures_of_events(const model::EventSource& source, const ResolvedQuery& query, const Ledgers& ledgers) {
  const ledger::Ledger& ledger = ledgers.whole();
  report::Report report;
  report.capture = source.capture();
  report.filter = filter_text(query);
  report.totals = totals_of(ledger);
  report.window = window_of(query, ledger);
  report.totals.resident = resident_of(
      source.resident(),
      {.from_ns = query.span.first.time_ns, .to_ns = query.span.last.time_ns, .from_start = report.capture.from_start});
  report.marks = source.marks();
  report.last_event_ns = ledger.now_ns();
  report.has_events = !ledger.gaps().events;
  if (ledger.gaps().sizes) report.sizes.reset();
  report.grows_to_the_end = report.has_events && !ledger.gaps().live && report::grows_to_the_end(live_bytes_of(ledger));
  if (query.asked.counting.statistics) list_statistics(report, ledgers.shown(), source.tables());
  add_resident(report.timeline, source.resident());
  return report;
}

// Numbers in a file may be wrong: parents come before their children in the table, so that the walk ends.
std::optional<report::Crash> crash_of(const model::EventSource& source, StackNames& names) {
  const std::optional<model::CrashStack>& found = source.capture().crash;
  const model::Tables& tables = source.tables();
  if (!found || found->stack < wire::kRootCount || found->stack >= tables.stacks.size()) return std::nullopt;
  report::Crash crash{.thread = found->thread, .frames = names.list_frames(tables, found->stack, kMaxListedFrames)};
  if (crash.frames.empty()) return std::nullopt;
  const bool is_cut = crash.frames.size() == kMaxListedFrames;
  crash.end = is_cut ? wire::StackEnd::kDepthLimit : shape_of(tables, found->stack).end;
  return crash;
}

// By those of a scan, which knows nothing of resident memory.
void replace_totals(report::Report& report, report::Totals totals) {
  totals.resident = report.totals.resident;
  totals.resident_parts = report.totals.resident_parts;
  report.totals = totals;
}

// `ledgers`: of the source's events, all or so far.
base::Result<report::Report> make_report(model::EventSource& source, const ResolvedQuery& resolved, StackNames& names,
                                         IgnoredStacks& ignored, const Ledgers& ledgers, const Makers& makers) {
  const Query& asked = resolved.asked;
  const ledger::Ledger& ledger = ledgers.whole();
  report::Report report = figures_of_events(source, resolved, ledgers);
  const auto when = std::thread::hardware_concurrency() > 1 ? std::launch::async : std::launch::deferred;
  auto indexed = std::async(when, makers.index);
  const auto judged = makers.judge();
  const bool is_about_scan = resolved.leaks_only || resolved.scan != 0 || needs_scan(resolved);
  if (!judged && is_about_scan) return std::unexpected(judged.error());
  if (!judged) report.capture.notes.push_back(model::failure_note(judged.error().message));  // the rest doesn't need it
  const std::shared_ptr<const JudgedLeaks> leaks = judged ? *judged : nullptr;
  if (leaks == nullptr) {
    for (const model::Note& note : source.scan_notes()) report.capture.notes.push_back(note);
  }
  if (report.totals.unwatched_releases != 0) report.capture.notes.push_back(unwatched_note(ledger, source.tables()));
  if (leaks != nullptr) {
    fill(report.leaks, *leaks, source.scans().size(), resolved.suppressions);
    report.leaks.kept_by_libraries = count_kept(*leaks, source.tables(), names);
    report.totals.resident_parts = resident_parts_of(leaks->scan);
  }
  if (leaks != nullptr && !asked.counting.events) replace_totals(report, totals_of(report.leaks));
  report.known = known_of(report);
  leave_out_not_recorded(report.capture.import, report.totals);
  const ResolvedQuery query = settled(resolved, report);
  report.sort_key = name_of(query.sort);
  const std::shared_ptr<const StackIndex> grouped = indexed.get();
  const StackIndex& index = *grouped;
  const Lister lister(ledger, source.tables(), index, names, ignored, query,
                      leaks != nullptr ? &leaks->counts : nullptr);
  lister.list_stacks(report);
  if (leaks != nullptr) name_cycles(leaks->scan, leaks->counts, index, report);
  if (leaks != nullptr) HEAPTAP_TRY(fill_views(report, source, query, names, ignored, ledger, index, *leaks));
  if (query.fragmentation_at_moment) {
    const KeepLists lists{source.tables(), query, names, ignored, index};
    HEAPTAP_TRY(fill_moment_pages(report, source, lists, ledgers.all()));
  }
  if ((asked.counting.activity || asked.counting.from_all_sides) && report.has_events) {
    report.activity = activity_view(ledger, StackRows(report, index), leaks.get());
  }
  if (asked.counting.from_all_sides && report.has_events) {
    const StackRows rows(report, index);
    if (report.capture.sample_interval == 0)
      report.address_space = address_space_view(ledger, rows, report.capture.page_bytes, kMaxPages);
  }
  if (asked.leaks.generate) lister.generate_suppressions(report);
  if (asked.listing.errors) lister.list_errors(report);
  if (asked.listing.blocks) {
    lister.list_blocks(report);
    if (report.blocks) give_names(*report.blocks, source.block_names());
  }
  report.crash = crash_of(source, names);
  report.frames = names.take_listed();
  report.modules = modules_of(source.tables());
  report.skipped = names.skipped();
  report.symbol_hints = hints_for(report.frames.all(), names);
  leave_out_not_recorded(report);
  if (!report.filter.empty() && report.stack_count == 0 && report.totals.allocations.counted() == 0) {
    report.unmatched = {
        .by_name = !asked.filter.function.empty() || !asked.filter.module.empty() || !asked.filter.tags.empty(),
        .by_thread = asked.filter.thread != 0};
  }
  return report;
}

std::shared_ptr<const StackIndex> index_of(const model::Tables& tables) { return std::make_shared<StackIndex>(tables); }

// All anew.
Makers makers_for(model::EventSource& source, const ResolvedQuery& query, StackNames& names, IgnoredStacks& ignored,
                  const Ledgers& ledgers, ScanAhead& scan) {
  return {.judge = [&]() -> base::Result<std::shared_ptr<const JudgedLeaks>> {
            auto judged = judge_leaks(source, query, names, ignored, ledgers.whole(), scan);
            if (!judged) return std::unexpected(std::move(judged).error());
            return *std::move(judged);
          },
          .index = [&source] { return index_of(source.tables()); }};
}

bool is_same(const symbols::ResolverOptions& a, const symbols::ResolverOptions& b) {
  return a.symbol_directories == b.symbol_directories && a.sysroots == b.sysroots && a.debuginfod == b.debuginfod &&
         a.server == b.server;
}

// The same allocations count. Named moments are resolved when a report is made, not when counting starts.
bool filters_alike(const Query& a, const Query& b) {
  const bool are_named =
      !a.window.from.empty() || !a.window.to.empty() || !b.window.from.empty() || !b.window.to.empty();
  return a.filter.function == b.filter.function && a.filter.module == b.filter.module &&
         a.filter.tags == b.filter.tags && a.filter.thread == b.filter.thread &&
         a.window.span.first.time_ns == b.window.span.first.time_ns &&
         a.window.span.last.time_ns == b.window.span.last.time_ns && !are_named &&
         a.counting.events == b.counting.events;
}

StackNames names_for(const Query& query) {
  return {query.symbols,
          query.filter.function,
          query.filter.module,
          query.filter.tags,
          report::SkippedNames(query.filter.skip),
          query.listing.frames.interpreter};
}

}  // namespace

base::Result<report::Report> analyze(model::EventSource& source, const Query& asked) {
  HEAPTAP_TRY(check_fragmentation(asked, source));  // before it is replayed
  std::optional<Moment> peak;
  if (asked.window.needs_peak(source.marks())) {
    const auto found = find_peak(source);
    if (!found) return std::unexpected(found.error());
    peak = *found;
  }
  const auto query = resolve(asked, source, peak);
  if (!query) return std::unexpected(query.error());
  HEAPTAP_TRY(check_not_recorded(source.capture(), *query));
  StackNames names = names_for(asked);
  IgnoredStacks ignored(asked.filter.ignores, names);
  ScanAhead scan(source, *query);
  const auto ledgers = replay_as_asked(source, *query, names, ignored);
  if (!ledgers) return std::unexpected(ledgers.error());
  return make_report(source, *query, names, ignored, **ledgers,
                     makers_for(source, *query, names, ignored, **ledgers, scan));
}

// Counting state of a live source. A second replay is impossible, so everything that it would provide is kept from the
// start.
struct Analysis::Counted {
  Counted(const model::Capture& capture, const Query& query)
      : names(names_for(query)),
        ignored(query.filter.ignores, names),
        ledgers(ledger_options(capture, query, query.window.span, names, query.listing.blocks || query.listing.errors),
                ignored) {}

  StackNames names;  // the filters of the ledgers
  IgnoredStacks ignored;
  Ledgers ledgers;
};

// Cache between two glances.
struct Analysis::Kept {
  explicit Kept(const Query& query)
      : options(query.symbols),
        skip(query.filter.skip),
        ignores(query.filter.ignores),
        names(names_for(query)),
        ignored(ignores, names) {}

  [[nodiscard]] bool serves(const Query& query) const {
    return is_same(options, query.symbols) && skip == query.filter.skip && ignores == query.filter.ignores;
  }

  symbols::ResolverOptions options;
  std::vector<std::string> skip;
  Ignores ignores;
  StackNames names;
  IgnoredStacks ignored;
  std::shared_ptr<const StackIndex> index;
  size_t indexed_sites = 0;
  size_t indexed_stacks = 0;
  std::shared_ptr<const JudgedLeaks> judged;
  struct Judged {
    size_t scans = 0;  // of the source
    uint32_t scan = 0;
    uint8_t roots = 0;
    size_t suppressions = 0;
    bool operator==(const Judged&) const = default;
  } judged_for;
};

Analysis::Analysis(model::EventSource& source, Query counts)
    : source_(source), counts_(std::move(counts)), counted_(std::make_unique<Counted>(source.capture(), counts_)) {}

Analysis::~Analysis() = default;

void Analysis::on_batch(const model::EventBatch& batch, const model::Tables& tables) {
  if (counts_.counting.events) counted_->ledgers.add(batch, tables);
}

void Analysis::on_totals(const model::Totals& /*totals*/, const model::Tables& /*tables*/) { has_totals_ = true; }

bool Analysis::can_answer(const Query& query) const {
  const auto keeps = [](bool kept, bool asked) { return kept || !asked; };
  const bool sorts_by_time = query.listing.sort == SortKey::kTime;
  return !has_totals_ && filters_alike(query, counts_) &&
         keeps(counts_.counting.statistics, query.counting.statistics) &&
         (!query.counting.statistics || query.filter.ignores == counts_.filter.ignores) &&
         keeps(counts_.counting.lifetimes, query.counting.lifetimes || sorts_by_time) &&
         keeps(counts_.listing.blocks, query.listing.blocks) &&
         keeps(counts_.listing.blocks || counts_.listing.errors, query.listing.errors) &&
         keeps(counts_.counting.activity, query.counting.activity) &&
         keeps(counts_.counting.from_all_sides, query.counting.from_all_sides);
}

base::Result<report::Report> Analysis::report(const Query& asked) {
  HEAPTAP_CHECK(can_answer(asked));
  const auto query = resolve(asked, source_);
  if (!query) return std::unexpected(query.error());
  StackNames names = names_for(asked);
  IgnoredStacks ignored(asked.filter.ignores, names);
  ScanAhead scan(source_, *query);
  return make_report(source_, *query, names, ignored, counted_->ledgers,
                     makers_for(source_, *query, names, ignored, counted_->ledgers, scan));
}

base::Result<report::Report> Analysis::glance(const Query& asked) {
  HEAPTAP_CHECK(can_answer(asked));
  const auto query = resolve(asked, source_);
  if (!query) return std::unexpected(query.error());
  if (kept_ == nullptr || !kept_->serves(asked)) kept_ = std::make_unique<Kept>(asked);
  Kept& kept = *kept_;
  const model::Tables& tables = source_.tables();
  if (kept.index == nullptr || kept.indexed_sites != tables.sites.size() ||
      kept.indexed_stacks != tables.stacks.size()) {
    kept.index = index_of(tables);
    kept.indexed_sites = tables.sites.size();
    kept.indexed_stacks = tables.stacks.size();
  }
  const auto judge = [&]() -> base::Result<std::shared_ptr<const JudgedLeaks>> {
    const Kept::Judged wanted{source_.scans().size(), query->scan, asked.leaks.options.roots,
                              query->suppressions.list().size()};
    if (kept.judged != nullptr && kept.judged_for == wanted) return kept.judged;
    ScanAhead scan(source_, *query);
    auto judged = judge_leaks(source_, *query, kept.names, kept.ignored, counted_->ledgers.whole(), scan);
    if (!judged) return std::unexpected(std::move(judged).error());
    kept.judged = *std::move(judged);
    kept.judged_for = wanted;
    return kept.judged;
  };
  return make_report(source_, *query, kept.names, kept.ignored, counted_->ledgers,
                     {.judge = judge, .index = [&kept] { return kept.index; }});
}

}  // namespace heaptap::query
