#include "html/difference.h"

#include <algorithm>
#include <optional>

#include "base/units.h"
#include "html/columns.h"
#include "html/strings.h"
#include "report/text_parts.h"

namespace heaptap::html {
namespace {

using report::ComparedStack;
using report::Comparison;
using report::Figure;
using report::FigureFacts;
using report::Figures;

// Several rows' figures of one recording.
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

void write_figures(std::string& text, const Figures& figures) {
  ObjectWriter object(text);
  for (const FigureFacts& facts : report::figures()) {
    const auto value = figures[facts.figure];
    object.json(std::string(facts.key).c_str(), value ? fmt::format("{}", *value) : "null");
  }
}

template <typename Entries, typename Write>
void write_list(std::string& text, const Entries& entries, Write write) {
  text += '[';
  bool is_first = true;
  for (const auto& entry : entries) {
    if (!is_first) text += ',';
    is_first = false;
    write(entry);
  }
  text += ']';
}

void write_recordings(const Comparison& comparison, std::string& text) {
  write_list(text, comparison.recordings, [&](const report::Recording& recording) {
    ObjectWriter object(text);
    object.json("name", json_text(name_of(recording)));
    object.json("program", json_text(report::program_of(recording.report.capture)));
    object.number("pid", recording.report.capture.pid);
    object.json("end", json_text(report::exit_text(recording.report.capture)));
    object.json("trace", json_text(recording.report.trace_path));
    object.json("at_ns", recording.at_ns ? fmt::format("{}", *recording.at_ns) : "null");
    write_figures(object.member("totals"), recording.totals);
  });
}

void write_values(const Comparison& comparison, const Rows& rows, std::string& text) {
  std::vector<size_t> numbers(comparison.recordings.size());
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  write_list(text, numbers, [&](size_t recording) {
    const RowFigures sums = figures_of(comparison, rows, recording);
    ObjectWriter table(text);
    for (const FigureFacts& facts : report::figures()) {
      table.column(std::string(facts.key).c_str(), sums.of_row,
                   [&](const std::optional<Figures>& figures) { return (*figures)[facts.figure]; });
    }
  });
}

// That recording's numbers of each row's stack; none of a row that stands for several.
void write_ids(const Comparison& comparison, const Rows& rows, std::string& text) {
  std::vector<size_t> numbers(comparison.recordings.size());
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  write_list(text, numbers, [&](size_t recording) {
    write_list(text, rows.rows, [&](const Row& row) {
      const std::vector<uint64_t> none;
      write_list(text, row.folded != 0 ? none : comparison.stacks[row.stack].sides[recording].ids,
                 [&](uint64_t id) { text += fmt::format("{}", id); });
    });
  });
}

void write_frames_before(const Comparison& comparison, const Rows& rows, std::string& text) {
  ObjectWriter table(text);
  for (size_t row = 0; row < rows.rows.size(); ++row) {
    const ComparedStack& stack = comparison.stacks[rows.rows[row].stack];
    if (rows.rows[row].folded != 0 || !stack.moved) continue;
    table.column(fmt::format("{}", row).c_str(), stack.frames_before, [](report::FrameIndex frame) { return frame; });
  }
}

void write_counts(const Comparison& comparison, std::string& text) {
  ObjectWriter counts(text);
  counts.number("all", comparison.stack_count);
  for (size_t state = 0; state < report::kStackStateCount; ++state) {
    counts.number(std::string(name_of(static_cast<report::StackState>(state))).c_str(), comparison.states[state]);
  }
  counts.number("moved", comparison.moved_count);
  counts.number("listed", comparison.stacks.size());
  counts.number("unchanged", comparison.unchanged);
  counts.number("below_floor", comparison.below_floor);
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
  made.sizes_known = false;
  made.frames = comparison.frames;
  for (const ComparedStack& compared : comparison.stacks) {
    const Figures& figures = compared.sides.back().figures;
    report::StackEntry& stack = made.stacks.emplace_back();
    const std::vector<uint64_t>& ids =
        compared.sides.back().ids.empty() ? compared.sides.front().ids : compared.sides.back().ids;
    stack.id = ids.empty() ? 0 : ids.front();
    stack.function = compared.function;
    stack.variant = compared.variant;
    stack.mapping = compared.mapping;
    stack.frames = compared.frames;
    stack.calls_known = figures[Figure::kAllocations] && figures[Figure::kAllocatedBytes];
    stack.live_known = figures[Figure::kLiveBytes] && figures[Figure::kLiveBlocks];
    stack.temporary_known = figures[Figure::kTemporary].has_value();
    stack.times_known = false;
    stack.allocations = figures[Figure::kAllocations].value_or(0);
    stack.releases = figures[Figure::kReleases].value_or(0);
    stack.allocated_bytes = figures[Figure::kAllocatedBytes].value_or(0);
    stack.live_blocks = figures[Figure::kLiveBlocks].value_or(0);
    stack.live_bytes = figures[Figure::kLiveBytes].value_or(0);
    stack.temporary_allocations = figures[Figure::kTemporary].value_or(0);
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

void write_difference(const Comparison& comparison, const Rows& rows, std::string& text) {
  ObjectWriter object(text);
  write_recordings(comparison, object.member("recordings"));
  write_list(object.member("figures"), report::figures(), [&](const FigureFacts& facts) {
    ObjectWriter figure(text);
    figure.json("key", json_text(facts.key));
    figure.json("word", json_text(facts.word));
    figure.json("unit", facts.is_bytes ? "\"bytes\"" : "\"count\"");
  });
  object.json("sort", json_text(facts_of(comparison.sort).key));
  write_counts(comparison, object.member("stack_count"));
  write_list(object.member("unmatched_modules"), comparison.unmatched_modules,
             [&](const std::string& module) { text += json_text(module); });
  write_list(object.member("remarks"), remarks_of(comparison),
             [&](const std::string& remark) { text += json_text(remark); });
  const auto stack_of = [&](const Row& row) -> const ComparedStack& { return comparison.stacks[row.stack]; };
  object.column("state", rows.rows,
                [&](const Row& row) { return '"' + std::string(name_of(stack_of(row).state)) + '"'; });
  object.column("moved", rows.rows, [&](const Row& row) { return row.folded == 0 && stack_of(row).moved ? 1U : 0U; });
  object.column("growing", rows.rows,
                [&](const Row& row) { return row.folded == 0 && stack_of(row).growing ? 1U : 0U; });
  write_ids(comparison, rows, object.member("ids"));
  write_values(comparison, rows, object.member("values"));
  write_frames_before(comparison, rows, object.member("frames_before"));
}

}  // namespace heaptap::html
