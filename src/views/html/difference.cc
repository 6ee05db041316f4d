#include "views/html/difference.h"

#include <algorithm>
#include <optional>

#include "analysis/findings/capture_text.h"
#include "analysis/findings/comparison_text.h"
#include "common/base/units.h"
#include "views/html/columns.h"

namespace heaptap::html {
namespace {

using json::JsonObject;
using json::JsonWriter;
using report::ComparedStack;
using report::Comparison;
using report::Figure;
using report::FigureFacts;
using report::Figures;

// Sum of several rows' figures in one recording.
struct RowFigures {
  std::vector<std::optional<Figures>> of_row;

  void add(uint32_t row, const Figures& figures) {
    if (of_row[row])
      *of_row[row] += figures;
    else
      of_row[row] = figures;
  }
};

RowFigures figures_of(const Comparison& comparison, const Rows& rows, size_t recording) {
  RowFigures sums{.of_row = std::vector<std::optional<Figures>>(rows.rows.size())};
  for (size_t i = 0; i < comparison.stacks.size(); ++i)
    sums.add(rows.of_stack[i], comparison.stacks[i].sides[recording].figures);
  return sums;
}

void write_figures(JsonWriter& json, const Figures& figures) {
  const JsonObject object(json);
  for (const FigureFacts& facts : report::figures()) json.member(facts.key, figures[facts.figure]);
}

void write_recordings(JsonWriter& json, const Comparison& comparison) {
  json.begin_array();
  for (const report::Recording& recording : comparison.recordings) {
    const JsonObject object(json);
    json.member("name", name_of(recording));
    json.member("program", findings::program_of(recording.report.capture));
    json.member("pid", recording.report.capture.pid);
    json.member("end", findings::exit_text(recording.report.capture));
    json.member("trace", recording.report.trace_path);
    json.member("at_ns", recording.at_ns);
    write_figures(json.key("totals"), recording.totals);
  }
  json.end_array();
}

void write_figure_facts(JsonWriter& json) {
  json.begin_array();
  for (const FigureFacts& facts : report::figures()) {
    const JsonObject object(json);
    json.member("key", facts.key);
    json.member("word", facts.word);
    json.member("unit", facts.is_bytes ? "bytes" : "count");
  }
  json.end_array();
}

// A table for each recording.
void write_values(JsonWriter& json, const Comparison& comparison, const Rows& rows) {
  json.begin_array();
  for (size_t recording = 0; recording < comparison.recordings.size(); ++recording) {
    const RowFigures sums = figures_of(comparison, rows, recording);
    const JsonObject table(json);
    for (const FigureFacts& facts : report::figures()) {
      write_column(json, facts.key, sums.of_row,
                   [&](const std::optional<Figures>& figures) { return (*figures)[facts.figure]; });
    }
  }
  json.end_array();
}

// Each recording's numbers of each row's stack; none of a row that stands for several.
void write_ids(JsonWriter& json, const Comparison& comparison, const Rows& rows) {
  const report::StackIds none;
  json.begin_array();
  for (size_t recording = 0; recording < comparison.recordings.size(); ++recording) {
    json.begin_array();
    for (const Row& row : rows.rows)
      json.values(row.folded != 0 ? none : comparison.stacks[row.stack].sides[recording].ids);
    json.end_array();
  }
  json.end_array();
}

void write_frames_before(JsonWriter& json, const Comparison& comparison, const Rows& rows) {
  const JsonObject table(json);
  for (size_t row = 0; row < rows.rows.size(); ++row) {
    const ComparedStack& stack = comparison.stacks[rows.rows[row].stack];
    if (rows.rows[row].folded != 0 || !stack.moved) continue;
    json.key(std::to_string(row)).values(comparison.frames.indices(stack.frames_before));
  }
}

void write_counts(JsonWriter& json, const Comparison& comparison) {
  const JsonObject counts(json);
  json.member("all", comparison.stack_count);
  for (size_t state = 0; state < report::kStackStateCount; ++state)
    json.member(name_of(static_cast<report::StackState>(state)), comparison.states[state]);
  json.member("moved", comparison.moved_count);
  json.member("listed", comparison.stacks.size());
  json.member("unchanged", comparison.unchanged);
  json.member("below_floor", comparison.below_floor);
}

uint64_t size_of(const std::optional<int64_t>& change) {
  if (!change) return 0;
  return *change < 0 ? 0 - static_cast<uint64_t>(*change) : static_cast<uint64_t>(*change);
}

}  // namespace

std::string name_of(const report::Recording& recording) {
  const std::string& path = recording.report.trace_path;
  std::string name = path.substr(path.rfind('/') + 1);
  if (recording.at_ns) name += " at " + base::format_duration(*recording.at_ns);
  return name;
}

report::Report report_of(const Comparison& comparison) {
  const report::Report& last = comparison.recordings.back().report;
  report::Report made;
  made.capture = last.capture;
  made.known = last.known;
  made.totals = last.totals;
  made.leaks = last.leaks;
  made.filter = last.filter;
  made.ignored = last.ignored;
  made.trace_path = last.trace_path;
  made.has_events = false;
  made.sizes.reset();
  made.frames = comparison.frames;
  for (const ComparedStack& compared : comparison.stacks) {
    const Figures& figures = compared.sides.back().figures;
    report::StackEntry& stack = made.stacks.emplace_back();
    const report::StackIds& ids =
        compared.sides.back().ids.empty() ? compared.sides.front().ids : compared.sides.back().ids;
    stack.id = ids.empty() ? 0 : ids.front();
    stack.function = compared.function;
    stack.variant = compared.variant;
    stack.mapping = compared.mapping;
    stack.purpose = compared.purpose;
    stack.frames = compared.frames;
    stack.allocations = figures[Figure::kAllocations].value_or(0);
    stack.releases = figures[Figure::kReleases].value_or(0);
    stack.allocated_bytes = figures[Figure::kAllocatedBytes].value_or(0);
    stack.live_blocks = figures[Figure::kLiveBlocks].value_or(0);
    stack.live_bytes = figures[Figure::kLiveBytes].value_or(0);
    stack.temporary_allocations = {figures[Figure::kTemporary].value_or(0), figures[Figure::kTemporary].has_value()};
    if (!figures[Figure::kAllocations] || !figures[Figure::kAllocatedBytes]) stack.set_calls_unknown();
    if (!figures[Figure::kLiveBytes] || !figures[Figure::kLiveBlocks]) stack.set_live_unknown();
    stack.set_times_unknown();
  }
  return made;
}

Weights weights_of(const Comparison& comparison) {
  Weights weights;
  weights.shares.resize(comparison.stacks.size());
  for (const ComparedStack& stack : comparison.stacks) weights.kinds.push_back(static_cast<uint8_t>(stack.state));
  const auto add_shares = [&](const auto& value_of) {
    double sum = 0;
    for (const ComparedStack& stack : comparison.stacks) sum += static_cast<double>(value_of(stack));
    for (size_t i = 0; sum > 0 && i < comparison.stacks.size(); ++i) {
      weights.shares[i] = std::max(weights.shares[i], static_cast<double>(value_of(comparison.stacks[i])) / sum);
    }
  };
  for (const FigureFacts& facts : report::figures()) {
    add_shares([&](const ComparedStack& stack) { return size_of(stack.change(facts.figure)); });
    for (size_t side = 0; side < comparison.recordings.size(); ++side) {
      add_shares([&](const ComparedStack& stack) { return stack.sides[side].figures[facts.figure].value_or(0); });
    }
  }
  return weights;
}

void write_difference(JsonWriter& json, const Comparison& comparison, const Rows& rows) {
  const JsonObject object(json);
  write_recordings(json.key("recordings"), comparison);
  write_figure_facts(json.key("figures"));
  json.member("sort", facts_of(comparison.sort).key);
  write_counts(json.key("stack_count"), comparison);
  json.key("unmatched_modules").values(comparison.unmatched_modules);
  json.key("remarks").values(findings::remarks_of(comparison));
  const auto stack_of = [&](const Row& row) -> const ComparedStack& { return comparison.stacks[row.stack]; };
  write_column(json, "state", rows.rows, [&](const Row& row) { return name_of(stack_of(row).state); });
  write_column(json, "moved", rows.rows,
               [&](const Row& row) { return row.folded == 0 && stack_of(row).moved ? 1U : 0U; });
  write_column(json, "growing", rows.rows,
               [&](const Row& row) { return row.folded == 0 && stack_of(row).growing ? 1U : 0U; });
  write_ids(json.key("ids"), comparison, rows);
  write_values(json.key("values"), comparison, rows);
  write_frames_before(json.key("frames_before"), comparison, rows);
}

}  // namespace heaptap::html
