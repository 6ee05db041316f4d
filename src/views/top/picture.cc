#include "views/top/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "analysis/findings/amount_text.h"
#include "analysis/findings/tracer_pauses.h"
#include "common/base/units.h"
#include "common/model/mark.h"
#include "views/top/pages.h"
#include "views/top/short_text.h"

namespace heaptap::top {
namespace {

struct FigureFacts {
  Figure figure;
  std::string_view title;
  size_t width;
  int rank;  // columns with higher numbers are dropped first if there is little room
};
constexpr std::array<FigureFacts, kFigureCount> kFacts{{{Figure::kLive, "LIVE", 6, 0},
                                                        {Figure::kBlocks, "BLOCKS", 7, 3},
                                                        {Figure::kGrowth, "GROWTH", 7, 1},
                                                        {Figure::kRate, "BYTES/S", 7, 2},
                                                        {Figure::kCalls, "CALLS/S", 7, 6},
                                                        {Figure::kAge, "AGE", 6, 4},
                                                        {Figure::kLifetime, "LIFETIME", 8, 5},
                                                        {Figure::kTemporary, "TEMP", 7, 7},
                                                        {Figure::kLeaked, "LEAKED", 6, 1},
                                                        {Figure::kAllocated, "TOTAL", 6, 8},
                                                        {Figure::kAllocations, "CALLS", 7, 1},
                                                        {Figure::kReleases, "FREES", 7, 2},
                                                        {Figure::kStacks, "STACKS", 6, 9}}};
constexpr size_t kWantedForNames = 38;

const FigureFacts& facts_of(Figure figure) { return kFacts[static_cast<size_t>(figure)]; }

std::string text_of(Figure figure, const std::optional<double>& value) {
  switch (figure) {
    case Figure::kLive:
    case Figure::kRate:
    case Figure::kLeaked:
    case Figure::kAllocated:
      return known_text(value, short_bytes);
    case Figure::kGrowth:
      return known_text(value, short_change);
    case Figure::kAge:
    case Figure::kLifetime:
      return known_text(value, short_duration);
    default:
      return known_text(value, short_count);
  }
}

Style style_of(Figure figure, const std::optional<double>& value) {
  if (!value || std::abs(*value) < 0.5) return Style::kDim;
  if (figure == Figure::kGrowth) return *value > 0 ? Style::kWarning : Style::kGood;
  return figure == Figure::kLeaked ? Style::kBad : Style::kPlain;
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

void add_title(Picture& picture, const PictureInput& input) {
  const Sample* const sample = input.history.now();
  picture.title = "heaptap top";
  if (sample == nullptr) return;
  const client::Process& process = sample->process;
  picture.title = fmt::format("{} (pid {})", file_name(process.program), process.pid);
  if (sample->process_count > 1)
    picture.title += fmt::format("  process {} of {}", sample->place + 1, sample->process_count);
  if (sample->image_count > 1) picture.title += fmt::format("  program {} of {}", process.image, sample->image_count);
  picture.title_end = clock_text(sample->figures.time_ns);
}

// Loops compress well: few bytes may be many seconds.
std::string behind_text(const Sample& sample) {
  constexpr uint64_t kMoment = 1'000'000'000;
  const uint64_t bytes = sample.freshness.written_bytes - sample.freshness.read_bytes;
  const uint64_t time_ns = sample.behind_ns();
  return fmt::format("{}{}B behind", time_ns < kMoment ? "" : short_duration(static_cast<double>(time_ns)) + ", ",
                     short_bytes(static_cast<double>(bytes)));
}

std::string percent(double share) { return share > 9.99 ? ">999%" : fmt::format("{:.0f}%", share * 100); }

// Facts about the whole picture.
void add_state(Picture& picture, const PictureInput& input) {
  const Sample* const sample = input.history.now();
  if (sample == nullptr) return;
  const bool has_ended = input.has_ended || (sample->is_live && !sample->process.runs);
  if (input.state.frozen) picture.state.push_back({"frozen", Style::kWarning});
  if (!sample->is_live) {
    picture.state.push_back({"recorded trace: average rates", Style::kPlain});
  } else if (has_ended) {
    picture.state.push_back({"ended", Style::kWarning});
  } else if (!sample->figures.is_on) {
    picture.state.push_back({"recording off", Style::kWarning});
  } else {
    picture.state.push_back({"via " + sample->process.via, Style::kPlain});
  }
  const client::Figures& figures = sample->figures;
  if (const auto share = findings::paused_share(figures.paused_by_tracer_ns, figures.time_ns)) {
    const bool matters = findings::pauses_matter(figures.paused_by_tracer_ns, figures.time_ns);
    picture.state.push_back({"paused " + percent(*share), matters ? Style::kWarning : Style::kPlain});
  }
  if (input.history.is_behind()) picture.state.push_back({behind_text(*sample), Style::kWarning});
}

std::string full_bytes(double bytes) { return base::format_bytes(whole(bytes)); }

void add_gauges(Picture& picture, const History& history) {
  const auto add = [&](Gauge gauge, const char* name, auto to_text, double most = 0) {
    picture.gauges.push_back({.name = name,
                              .value = known_text(history.value(gauge), to_text),
                              .series = history.series(gauge),
                              .most = most});
  };
  add(Gauge::kLive, "live", full_bytes);
  add(Gauge::kAllocations, "allocs/s", short_count);
  add(Gauge::kBlocks, "blocks", short_count);
  add(Gauge::kReleases, "frees/s", short_count);
  add(Gauge::kResident, "resident", full_bytes);
  add(Gauge::kLog, "log", percent, 1);
}

void add_rows_status(std::vector<StyledText>& status, const PictureInput& input) {
  const State& state = input.state;
  const Table& table = input.table;
  constexpr std::array<const char*, kGroupingCount> kUnits{"stack", "thread", "module"};
  status.push_back({counted(table.stack_count(), kUnits[static_cast<size_t>(state.grouping)])});
  if (!state.filter.empty()) {
    status.push_back({fmt::format("/{}: {} hidden", state.filter, base::format_count(table.hidden)), Style::kWarning});
  }
  if (table.unnamed != 0 && (state.grouping == Grouping::kModules || !state.filter.empty())) {
    status.push_back({fmt::format("{} without names yet", base::format_count(table.unnamed)), Style::kWarning});
  }
}

void add_leak_status(std::vector<StyledText>& status, const History& history) {
  const auto& leaks = history.leaks();
  if (!leaks || !leaks->leaks.scanned) return;
  const report::BlockCount lost = report::BlockCount(leaks->leaks.definite) += leaks->leaks.indirect;
  const uint64_t possible = leaks->leaks.possible.blocks;
  const auto say = [&](std::string_view what, Style style) {
    status.push_back({fmt::format("scan {}: {}", leaks->scan, what), style});
  };
  if (lost.blocks != 0) {
    const std::string bytes = (leaks->all_known ? "" : "at least ") + base::format_bytes(lost.bytes);
    return say(fmt::format("{} leaked in {}", bytes, counted(lost.blocks, "block")), Style::kBad);
  }
  if (possible != 0) return say(counted(possible, "block") + " possibly leaked", Style::kWarning);
  if (!leaks->all_known) return say("no leaks found, incomplete", Style::kWarning);
  say("no leaks", Style::kGood);
}

void add_status(Picture& picture, const PictureInput& input) {
  const Sample* const sample = input.history.now();
  if (!input.message.empty()) picture.status.push_back({input.message, input.is_trouble ? Style::kBad : Style::kBold});
  if (sample == nullptr) return;
  if (sample->figures.lost_events != 0) {
    picture.status.push_back(
        {fmt::format("{} events lost", base::format_count(sample->figures.lost_events)), Style::kBad});
  }
  add_rows_status(picture.status, input);
  if (sample->is_live) {
    const std::string since = input.history.base_name();
    picture.status.push_back({since.empty() ? "growth since the start" : "growth since " + since, Style::kDim});
    const auto named = std::ranges::count(sample->marks, model::MarkKind::kNamed, &model::Mark::kind);
    if (named != 0) picture.status.push_back({counted(static_cast<uint64_t>(named), "mark"), Style::kDim});
  }
  add_leak_status(picture.status, input.history);
  const report::Totals& totals = sample->totals;
  const uint64_t mapped =
      totals.mapped.are_known() ? totals.mapped.memory.live_bytes : totals.mapped_live_bytes.counted();
  if (totals.sample_interval != 0) {
    picture.status.push_back(
        {fmt::format("estimates, a sample per {}", base::format_bytes(totals.sample_interval)), Style::kWarning});
  }
  if (mapped != 0) picture.status.push_back({base::format_bytes(mapped) + " mapped", Style::kDim});
  if (const auto peak = totals.peak_live_bytes.if_known())
    picture.status.push_back(
        {"peak " + base::format_bytes(*peak) + findings::bytes_error_text(totals.peak_error_bytes), Style::kDim});
}

// Columns that fit beside the names; the one sorted by is always shown.
std::vector<PictureColumn> columns_for(const PictureInput& input, size_t width) {
  std::vector<Figure> figures = figures_of(input.state.grouping, input.history.leaks().has_value());
  const Figure chosen = input.state.sort();
  const auto room_taken = [&figures] {
    size_t taken = 0;
    for (const Figure figure : figures) taken += facts_of(figure).width + 1;
    return taken;
  };
  const size_t wanted = std::min(kWantedForNames, width / 2);
  while (figures.size() > 1 && room_taken() + wanted > width) {
    const auto rank = [chosen](Figure figure) { return figure == chosen ? -1 : facts_of(figure).rank; };
    figures.erase(std::ranges::max_element(figures, {}, rank));
  }
  std::vector<PictureColumn> columns;
  for (const Figure figure : figures) {
    const FigureFacts& facts = facts_of(figure);
    columns.push_back({figure, std::string(facts.title), facts.width, figure == chosen});
  }
  return columns;
}

// "[mapped] ", or bytes reserved in addition to live ones: "[+64.0G reserved] ", with little room "[+64.0G] ". Empty:
// the stack allocates blocks.
std::string mapping_mark(const PictureInput& input, uint64_t id, const char* word = "") {
  const report::StackCount* const count = input.history.count_of(id);
  if (count == nullptr || !count->mapping) return "";
  const uint64_t reserved = count->reserved_bytes;
  return reserved == 0 ? "[mapped] " : fmt::format("[+{}{}] ", short_bytes(static_cast<double>(reserved)), word);
}

void name_row(PictureRow& row, const PictureInput& input) {
  switch (input.state.grouping) {
    case Grouping::kStacks: {
      if (row.key == kLibrariesKey) {
        row.name = "(memory of system libraries: Enter lists the stacks)";
        row.shorter_names = {"(memory of system libraries)", "(system libraries)"};
        return;
      }
      const NamedStack* const stack = input.names.find(row.key);
      row.named = stack != nullptr;
      if (stack == nullptr) {
        row.name = fmt::format("#{} …", row.key);
        return;
      }
      const std::string before = fmt::format("#{} {}", row.key, mapping_mark(input, row.key, " reserved"));
      const std::string shorter = fmt::format("#{} {}", row.key, mapping_mark(input, row.key));
      row.name = before + (stack->sites.empty() ? stack->function : stack->sites.front());
      for (size_t i = 1; i < stack->sites.size(); ++i) row.shorter_names.push_back(before + stack->sites[i]);
      if (shorter == before) return;
      for (const std::string& site : stack->sites) row.shorter_names.push_back(shorter + site);
      return;
    }
    case Grouping::kThreads: {
      const auto threads = report::or_none(input.history.now()->threads);
      const auto found = std::ranges::find(threads, row.key, &report::ThreadEntry::number);
      if (found != threads.end())
        row.name = fmt::format("{} {} (tid {})", found->number, found->name, found->kernel_id);
      return;
    }
    case Grouping::kModules:
      row.name = row.key > input.table.names.size() ? "" : input.table.names[row.key - 1];
      row.shorter_names = {file_name(row.name)};
      if (row.name.empty()) row.name = "(no module)";
  }
}

std::string why_no_rows(const PictureInput& input) {
  const Sample* const sample = input.history.now();
  if (sample == nullptr) return input.message.empty() ? "Reading…" : "";
  if (!input.state.filter.empty()) return "The filter hides all of them.";
  if (input.state.grouping == Grouping::kThreads && !sample->threads) return "No threads known yet.";
  return "No allocations yet.";
}

void add_rows(Picture& picture, const PictureInput& input, const Layout& layout) {
  constexpr std::array<const char*, kGroupingCount> kTitles{"WHERE", "THREAD", "MODULE"};
  picture.name_title = kTitles[static_cast<size_t>(input.state.grouping)];
  picture.columns = columns_for(input, layout.width);
  const std::vector<Table::Place>& order = input.table.order;
  const size_t end = std::min(order.size(), input.state.first + layout.page_rows());
  for (size_t i = input.state.first; i < end; ++i) {
    const TableRow figures = row_of(input.history, input.table, input.state, order[i].key);
    PictureRow row{.key = order[i].key};
    for (const PictureColumn& column : picture.columns) {
      const auto& value = figures.of(column.figure);
      row.cells.push_back({text_of(column.figure, value), style_of(column.figure, value)});
    }
    name_row(row, input);
    if (i == input.state.cursor) picture.selected = picture.rows.size();
    picture.rows.push_back(std::move(row));
  }
  if (picture.rows.empty()) picture.no_rows = why_no_rows(input);
}

void add_lines(Picture& picture, const PictureInput& input, const Layout& layout) {
  std::vector<StyledText> lines =
      input.state.mode == Mode::kHelp ? help_lines() : stack_lines(input.history, input.names, input.state, input.page);
  // One more: the line of the column titles.
  const size_t page = layout.page_rows() + 1;
  const size_t first = std::min(input.state.scrolled, lines.size() > page ? lines.size() - page : 0);
  picture.first_line = first;
  for (size_t i = first; i < std::min(lines.size(), first + page); ++i) picture.lines.push_back(std::move(lines[i]));
}

std::vector<KeyHint> hints_of(const State& state, bool is_live, bool has_images) {
  if (state.mode == Mode::kStack) return {{"Esc", "back"}, {"↑↓", "scroll"}, {"q", "quit"}};
  if (state.mode == Mode::kHelp) return {{"q", "back"}};
  std::vector<KeyHint> hints{{"q", "quit"}, {"h", "help"}, {"<>", "sort"}, {"/", "filter"}, {"Enter", "stack"}};
  constexpr std::array<const char*, kGroupingCount> kKeys{"k", "t", "o"};
  constexpr std::array<const char*, kGroupingCount> kMeanings{"stacks", "threads", "modules"};
  for (size_t i = 0; i < kGroupingCount; ++i) {
    if (static_cast<size_t>(state.grouping) != i) hints.push_back({kKeys[i], kMeanings[i]});
  }
  if (has_images) hints.push_back({"i", "programs"});
  if (is_live) {
    hints.push_back({"m", "mark"});
    hints.push_back({"s", "scan"});
    hints.push_back({"p", state.frozen ? "continue" : "freeze"});
  }
  return hints;
}

}  // namespace

Layout layout_of(size_t width, size_t height, bool has_keys) {
  Layout layout{.width = width, .height = height, .has_keys = has_keys && height > 3};
  if (height >= 14 && width >= 60) {
    layout.gauge_lines = 3;
  } else if (height >= 6) {
    layout.gauge_lines = 1;
  }
  layout.has_status = height >= 8;
  return layout;
}

Picture make_picture(const PictureInput& input, const Layout& layout) {
  Picture picture;
  picture.mode = input.state.mode;
  add_title(picture, input);
  add_state(picture, input);
  add_gauges(picture, input.history);
  add_status(picture, input);
  if (input.state.mode == Mode::kStack || input.state.mode == Mode::kHelp) {
    add_lines(picture, input, layout);
  } else if (input.history.now() != nullptr) {
    add_rows(picture, input, layout);
  } else {
    picture.no_rows = why_no_rows(input);
  }
  if (input.state.mode == Mode::kFilter) picture.prompt = "filter by function or module: " + input.state.filter;
  if (input.state.mode == Mode::kMark) picture.prompt = "name of the mark: " + input.state.input;
  const bool is_live = input.history.now() != nullptr && input.history.now()->is_live;
  const bool has_images = input.history.now() != nullptr && input.history.now()->image_count > 1;
  picture.keys = hints_of(input.state, is_live, has_images);
  if (input.history.now() != nullptr && input.history.now()->process_count > 1) {
    picture.keys.push_back({"Tab", "next process"});
  }
  return picture;
}

}  // namespace heaptap::top
