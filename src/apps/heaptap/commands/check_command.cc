#include "apps/heaptap/commands/check_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>

#include "analysis/findings/capture_text.h"
#include "analysis/findings/ignored_text.h"
#include "analysis/findings/note_text.h"
#include "analysis/findings/sampling_text.h"
#include "analysis/findings/text_safe.h"
#include "analysis/findings/verdict.h"
#include "analysis/query/analyze.h"
#include "analysis/report/process_sums.h"
#include "analysis/report/skipped_names.h"
#include "apps/heaptap/commands/baselines.h"
#include "apps/heaptap/commands/name_sources.h"
#include "apps/heaptap/commands/run_traces.h"
#include "apps/heaptap/commands/terminal.h"
#include "apps/heaptap/commands/trace_file.h"
#include "apps/heaptap/commands/trace_list.h"
#include "common/base/exit_status.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"
#include "record/trace/trace_reader.h"
#include "views/exports/lines.h"
#include "views/json/json_verdict.h"
#include "views/text/fold.h"
#include "views/text/render_text.h"
#include "views/text/text_verdict.h"

namespace heaptap::app {
namespace {

using report::LimitKind;

constexpr int kExitBeyond = 1;
constexpr size_t kMaxOthers = 16;  // mapped stacks etc., which may be listed first but don't count for a limit

uint64_t figure_of(const report::Report& report, const CheckOptions& options, LimitKind kind) {
  switch (kind) {
    case LimitKind::kLeaked:
      return report.leaks.definite.bytes + report.leaks.indirect.bytes +
             (options.possible ? report.leaks.possible.bytes + report.leaks.pools.leaked_apart.bytes
                               : report.leaks.pools.lost_apart.bytes);
    case LimitKind::kPeak:
      return report::peak_of(report).if_known().value_or(0);
    case LimitKind::kLive:
      return report.totals.live_bytes.counted();
    case LimitKind::kAllocations:
      break;
  }
  return report.totals.allocations.counted();
}

query::SortKey sort_of(LimitKind kind) {
  switch (kind) {
    case LimitKind::kLeaked:
      return query::SortKey::kLeakedBytes;
    case LimitKind::kPeak:
      return query::SortKey::kPeak;
    case LimitKind::kLive:
      return query::SortKey::kUsage;
    case LimitKind::kAllocations:
      break;
  }
  return query::SortKey::kAllocations;
}

bool is_early_scan(const report::Report& report, const CheckOptions& options) {
  const bool is_asked_for = options.scan != 0;
  return report::has_early_scan(report) && !is_asked_for;
}

std::vector<report::StackEntry> telling_stacks(const CheckOptions& options, LimitKind kind,
                                               std::vector<report::StackEntry> stacks) {
  std::erase_if(stacks, [&](const report::StackEntry& stack) {
    const report::BlockCount share = findings::share_of(kind, options.possible, stack);
    const bool counts = kind == LimitKind::kLeaked ? !stack.mapping : !stack.is_apart();  // leaks of pools count
    return !counts || share.blocks + share.bytes == 0;
  });
  if (stacks.size() > options.stacks) stacks.resize(options.stacks);
  return stacks;
}

// Reasons why figures are inexact or missing.
std::vector<std::string> remarks_of(const CheckOptions& options, const report::Report& report,
                                    const std::vector<model::Note>& scan_notes) {
  std::vector<std::string> remarks;
  const std::string& tool = report.capture.import.tool;
  if (options.leaked_bytes && !report.leaks.scanned && !tool.empty()) {
    remarks.push_back(fmt::format("--max-leaked: leaks are not in {}'s file; use --max-live", tool));
  } else if (options.leaked_bytes && !report.leaks.scanned) {
    std::string why;
    for (const std::string& note : findings::sentences_of(scan_notes)) why += "; " + note;
    remarks.push_back("--max-leaked: the trace has no leak scan" + why +
                      "; record it again without --no-leak-scan, --aggregate and --sample, or use --max-live");
  }
  if (options.allocations && !report.totals.allocations.is_known())
    remarks.push_back(fmt::format("--max-allocations: calls are not in {}'s file; use --max-peak", tool));
  if ((options.peak_bytes && !report::peak_of(report).is_known() && !report.of_run) ||
      (options.live_bytes && !report.totals.live_bytes.is_known())) {
    remarks.emplace_back(
        "recorded with --aggregate, which doesn't keep the values for --max-peak or --max-live; record it again "
        "without it");
  }
  if (report.capture.lost_events != 0) {
    remarks.push_back(fmt::format("{} events were lost: the figures are not exact", report.capture.lost_events));
  }
  if (std::string sampling = findings::sampling_sentence(report); !sampling.empty())
    remarks.push_back(std::move(sampling));
  if (const std::string uncertainty = findings::uncertainty_of(report); !uncertainty.empty())
    remarks.push_back(uncertainty);
  if (report.capture.truncated) {
    remarks.push_back("incomplete: " + report.capture.damage);
  }
  if (const std::string late = findings::late_start_of(report); !late.empty()) remarks.push_back(late);
  if (options.leaked_bytes && is_early_scan(report, options)) {
    remarks.emplace_back("--max-leaked: the last leak scan was made before the end: later leaks are not in it");
  }
  for (const std::string& note : findings::sentences_of(report.capture.notes)) remarks.push_back(note);
  if (std::string ignored = findings::ignored_text(report); !ignored.empty()) remarks.push_back(std::move(ignored));
  for (const std::string& line : report.leaks.unused_suppressions) {
    remarks.push_back("unused suppression: " + line);
  }
  for (const std::string& line : report.leaks.broad_suppressions) {
    remarks.push_back("suppression matches every stack: " + line);
  }
  return remarks;
}

// Whether the peak may be on either side of the limit.
bool is_peak_near(const report::Report& report, uint64_t limit) {
  const uint64_t peak = report::peak_of(report).counted();
  const uint64_t error = report::peak_error_of(report);
  const bool may_be_more = limit < peak || limit - peak < error;
  const bool may_be_less = limit >= peak - std::min(error, peak);
  const bool is_estimate = report.capture.sample_interval != 0;  // unknown anyway
  return error != 0 && !is_estimate && may_be_more && may_be_less;
}

// Programs of the traces judged together. Read on first use.
class Recorded {
 public:
  explicit Recorded(const std::vector<std::string>& traces) : traces_(traces) {}

  // Whether they include the program that a process executed when it left `before`.
  bool went_on(const model::Capture& before) {
    if (!captures_) captures_ = read_all();
    return std::ranges::any_of(*captures_, [&](const model::Capture& later) {
      return later.pid == before.pid && later.host_name == before.host_name &&
             later.start_unix_ns > before.start_unix_ns;
    });
  }

 private:
  // An unreadable trace has no program.
  [[nodiscard]] std::vector<model::Capture> read_all() const {
    std::vector<model::Capture> captures;
    if (traces_.size() == 1) return captures;
    for (const std::string& trace : traces_) {
      const auto reader = open_trace(trace);
      if (!reader) continue;
      model::Capture& known = captures.emplace_back();
      known.pid = (*reader)->capture().pid;
      known.host_name = (*reader)->capture().host_name;
      known.start_unix_ns = (*reader)->capture().start_unix_ns;
    }
    return captures;
  }

  const std::vector<std::string>& traces_;
  std::optional<std::vector<model::Capture>> captures_;
};

// `read`: reads the trace by a query: once for the figures, and again for the stacks of each exceeded limit.
using Read = std::function<base::Result<report::Report>(const query::Query&)>;
base::Result<findings::Verdict> judge(const CheckOptions& options, const query::Suppressions& suppressions,
                                      const std::string& trace, const std::vector<model::Note>& scan_notes,
                                      const Read& read) {
  query::Query query;
  query.listing.stacks = query.counting.statistics = false;
  query.listing.limit = options.stacks + kMaxOthers;
  query.leaks.scan = options.scan;
  query.leaks.options = options.leaks;
  query.leaks.suppressions = suppressions;
  query.leaks.carried_suppressions = options.carried_suppressions;
  query.symbols = options.symbols;
  query.filter.skip = options.skip;
  query.filter.ignores = options.ignores;
  ProgressLine progress;
  progress.follow(query);
  const auto figures = read(query);
  if (!figures) return std::unexpected(figures.error());
  findings::Verdict verdict{.trace_path = trace,
                            .possible_counts = options.possible,
                            .limits = {},
                            .baseline_path = options.baseline,
                            .growth = {},
                            .remarks = remarks_of(options, *figures, scan_notes),
                            .skipped = report::SkippedNames(options.skip)};
  query.listing.stacks = options.stacks != 0;
  const auto add = [&](LimitKind kind, const std::optional<uint64_t>& limit) -> base::Result<> {
    if (!limit) return {};
    auto certainty = report::certainty_of(*figures, kind, is_early_scan(*figures, options));
    if (certainty != report::Certainty::kNone && kind == LimitKind::kPeak && is_peak_near(*figures, *limit)) {
      certainty = report::Certainty::kUnknown;
      verdict.remarks.push_back(
          fmt::format("--max-peak: with --aggregate and several threads the peak may be {} bytes less or more",
                      base::format_count(report::peak_error_of(*figures))));
    }
    const bool has_figure = certainty != report::Certainty::kNone;
    verdict.limits.push_back({.kind = kind,
                              .figure = {figure_of(*figures, options, kind), has_figure},
                              .limit = *limit,
                              .stacks = {},
                              .frames = {},
                              .certainty = certainty,
                              .allow_incomplete = options.allow_incomplete});
    if (!verdict.limits.back().broken() || !query.listing.stacks) return {};
    query.listing.sort = sort_of(kind);
    query.listing.leaks_only = kind == LimitKind::kLeaked;
    auto listed = read(query);
    if (!listed) return std::unexpected(std::move(listed).error());
    verdict.limits.back().stacks = telling_stacks(options, kind, std::move(listed->stacks));
    verdict.limits.back().frames = std::move(listed->frames);
    return {};
  };
  HEAPTAP_TRY(add(LimitKind::kLeaked, options.leaked_bytes));
  HEAPTAP_TRY(add(LimitKind::kPeak, options.peak_bytes));
  HEAPTAP_TRY(add(LimitKind::kLive, options.live_bytes));
  HEAPTAP_TRY(add(LimitKind::kAllocations, options.allocations));
  if (!options.growth.empty()) HEAPTAP_TRY(judge_growth(options, suppressions, verdict));
  return verdict;
}

// Memory of a wrapper before it executed the program no longer exists, and isn't leaked by the run.
base::Result<findings::Verdict> judge_trace(CheckOptions options, const query::Suppressions& suppressions,
                                            const std::string& trace, Recorded& recorded) {
  auto reader = open_trace(trace);
  if (!reader) return std::unexpected(std::move(reader).error());
  const bool is_wrapper =
      (*reader)->capture().executed && (*reader)->scans().empty() && recorded.went_on((*reader)->capture());
  if (is_wrapper) options.leaked_bytes.reset();
  auto verdict = judge(options, suppressions, trace, (*reader)->scan_notes(),
                       [&reader](const query::Query& query) { return analyze_trace(**reader, query); });
  if (verdict && is_wrapper)
    verdict->remarks.push_back("it executed another program: what was allocated before is not a leak");
  return verdict;
}

// Sum of all processes. Peaks, which they have at different times, aren't added: the largest counts.
base::Result<findings::Verdict> judge_run(const CheckOptions& options, const query::Suppressions& suppressions,
                                          const Run& run) {
  const char* const need = options.scan != 0 ? "--scan" : !options.growth.empty() ? "--baseline" : nullptr;
  if (need != nullptr) {
    return base::fail_as(base::ErrorKind::kUsage,
                         "{} needs a single process, and '{}' is the recording of several: name one of its traces, "
                         "such as '{}'",
                         need, run.path, run.entries.front().trace);
  }
  auto verdict =
      judge(options, suppressions, run.path, {}, [&run](const query::Query& query) { return read_run(run, query); });
  if (verdict && options.peak_bytes)
    verdict->remarks.emplace_back("--max-peak: of several processes, the largest peak counts");
  return verdict;
}

// None if one trace is compared with one baseline, of any program.
base::Result<std::optional<Baselines>> baselines_of(const CheckOptions& options,
                                                    const std::vector<std::string>& traces) {
  std::error_code error;
  const bool is_directory = std::filesystem::is_directory(options.baseline, error);
  if (options.baseline.empty() || (traces.size() == 1 && !is_directory)) return std::nullopt;
  auto baselines = Baselines::open(options.baseline);
  if (!baselines) return std::unexpected(std::move(baselines).error());
  return *std::move(baselines);
}

base::Result<findings::Verdict> judge_named(CheckOptions options, const std::optional<Baselines>& baselines,
                                            const query::Suppressions& suppressions, const std::string& named,
                                            Recorded& recorded) {
  const auto chosen = chosen_trace(named, options.image);
  if (!chosen) return std::unexpected(chosen.error());
  const std::string& trace = *chosen;
  if (baselines) {
    auto baseline = baselines->of(trace);
    if (!baseline) return std::unexpected(std::move(baseline).error());
    options.baseline = *std::move(baseline);
  }
  const auto run = open_run(trace);
  if (!run) return std::unexpected(run.error());
  const bool is_process = *run && trace::is_one_process((*run)->entries) && !options.growth.empty();
  return *run && !is_process ? judge_run(options, suppressions, **run)
                             : judge_trace(options, suppressions, trace, recorded);
}

// Exit status for one trace.
int status_of(const findings::Verdict& verdict) {
  return verdict.broken() ? kExitBeyond : verdict.passed() ? 0 : base::kExitUnknown;
}

// Of two traces' statuses the relevant one: an exceeded limit is certain, whatever the other trace's status is.
int worse_of(int one, int other) {
  if (one == kExitBeyond || other == kExitBeyond) return kExitBeyond;
  return std::max(one, other);
}

struct Findings {
  std::vector<findings::Verdict> verdicts;
  std::vector<findings::FailedTrace> failures;
  bool several = false;
};

std::string findings_text(const CheckOptions& options, const Findings& findings) {
  if (options.json && findings.several)
    return json::render_verdicts_json(findings.verdicts, findings.failures, *options.json);
  const text::RenderOptions render{.color = use_color(options.color, STDOUT_FILENO),
                                   .width = terminal_width(STDOUT_FILENO),
                                   .frames = options.frames};
  std::string text;
  for (const findings::Verdict& verdict : findings.verdicts) {
    if (options.lines) {
      text += exports::lines_of(verdict);
      continue;
    }
    if (findings.several) text += base::safe_text(verdict.trace_path) + ":\n";
    text += options.json ? json::render_verdict_json(verdict, *options.json) : text::render_verdict(verdict, render);
  }
  return text;
}

}  // namespace

base::Result<findings::Verdict> judge_recording(const CheckOptions& options, const std::string& trace) {
  const auto suppressions = query::read_suppressions(options.suppressions);
  if (!suppressions) return std::unexpected(suppressions.error());
  const std::vector<std::string> traces{trace};
  Recorded recorded(traces);
  return judge_named(options, std::nullopt, *suppressions, trace, recorded);
}

int perform(const CheckOptions& options) {
  const auto suppressions = query::read_suppressions(options.suppressions);
  if (!suppressions) return complain(suppressions.error());
  const auto traces = list_traces(options.traces);
  if (!traces) return complain(traces.error());
  const auto baselines = baselines_of(options, *traces);
  if (!baselines) return complain(baselines.error());
  Findings findings;
  findings.several = traces->size() > 1;
  Recorded recorded(*traces);
  int status = 0;
  for (const std::string& trace : *traces) {
    auto verdict = judge_named(options, *baselines, *suppressions, trace, recorded);
    if (verdict) {
      status = worse_of(status, status_of(*verdict));
      findings.verdicts.push_back(std::move(*verdict));
    } else {
      status = worse_of(status, complain(verdict.error()));
      findings.failures.push_back({trace, verdict.error().message});
    }
  }
  if (options.quiet) return status;
  const size_t width = options.json || options.lines ? 0 : fold_width(STDOUT_FILENO);
  const auto printed = print_output(text::folded(findings_text(options, findings), width));
  return printed ? status : complain(printed.error());
}

}  // namespace heaptap::app
