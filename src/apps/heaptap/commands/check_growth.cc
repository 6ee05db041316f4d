// Baseline comparison of `heaptap check`.
#include "analysis/findings/comparison_text.h"
#include "analysis/findings/growth_verdict.h"
#include "analysis/findings/verdict.h"
#include "analysis/query/compare.h"
#include "analysis/report/comparison.h"
#include "apps/heaptap/commands/check_command.h"
#include "apps/heaptap/commands/diff_command.h"

namespace heaptap::app {
namespace {

base::Result<report::Report> read_one(const CheckOptions& options, const query::Suppressions& suppressions,
                                      const std::string& trace, uint32_t scan) {
  query::Query query;
  query.leaks.scan = scan;
  query.leaks.options = options.leaks;
  query.leaks.suppressions = suppressions;
  query.leaks.carried_suppressions = options.carried_suppressions;
  query.symbols = options.symbols;
  query.filter.ignores = options.ignores;
  auto reports = read_for_comparison({trace}, query);
  if (!reports) return std::unexpected(std::move(reports).error());
  return std::move(reports->front());
}

report::Certainty certainty_of(const report::Report& before, const report::Report& after, report::LimitKind kind,
                               bool is_scan_asked_for) {
  const bool is_early = report::has_early_scan(after) && !is_scan_asked_for;
  return findings::growth_certainty(report::certainty_of(before, kind, report::has_early_scan(before)),
                                    report::certainty_of(after, kind, is_early));
}

}  // namespace

base::Result<> judge_growth(const CheckOptions& options, const query::Suppressions& suppressions,
                            findings::Verdict& verdict) {
  const auto before = read_one(options, suppressions, options.baseline, 0);
  if (!before) return std::unexpected(before.error());
  const auto after = read_one(options, suppressions, verdict.trace_path, options.scan);
  if (!after) return std::unexpected(after.error());
  const report::Comparison comparison =
      query::compare({{.report = &*before}, {.report = &*after}}, {.unchanged = true});
  bool leaks = false;
  for (const report::GrowthLimit& limit : options.growth) {
    leaks = leaks || limit.kind == report::LimitKind::kLeaked;
    const report::Certainty certainty = certainty_of(*before, *after, limit.kind, options.scan != 0);
    verdict.growth.push_back(
        findings::judge_growth(comparison, limit, certainty, options.allow_incomplete, options.stacks));
  }
  for (const std::string& doubt : findings::doubts_of(comparison.recordings.front(), leaks)) {
    verdict.remarks.push_back("the baseline: " + doubt);
  }
  for (const std::string& missing : findings::missing_of(comparison.recordings.back(), leaks)) {
    verdict.remarks.push_back("the trace: " + missing);
  }
  for (const std::string& module : comparison.unmatched_modules) {
    verdict.remarks.push_back(
        module + " differs from the baseline's and its functions have no names: stacks through it count as new");
  }
  return {};
}

}  // namespace heaptap::app
