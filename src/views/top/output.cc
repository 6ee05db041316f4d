#include "views/top/output.h"

#include <algorithm>
#include <array>
#include <utility>

#include "views/json/json_values.h"
#include "views/top/draw.h"
#include "views/top/picture.h"
#include "views/top/screen.h"
#include "views/top/table.h"
#include "views/top/take_sample.h"

namespace heaptap::top {
namespace {

using json::JsonObject;
using json::JsonWriter;
using json::known;

constexpr size_t kTextRows = 20;
constexpr size_t kJsonRows = 10;
constexpr std::array<std::pair<std::string_view, Figure>, 9> kWords{{{"live", Figure::kLive},
                                                                     {"blocks", Figure::kBlocks},
                                                                     {"growth", Figure::kGrowth},
                                                                     {"rate", Figure::kRate},
                                                                     {"calls", Figure::kCalls},
                                                                     {"age", Figure::kAge},
                                                                     {"lifetime", Figure::kLifetime},
                                                                     {"temporary", Figure::kTemporary},
                                                                     {"leaked", Figure::kLeaked}}};

// Successive samples, with names for the first rows of each.
class Samples {
 public:
  enum class Libraries : uint8_t { kSummedUp, kListed };  // their memory

  Samples(client::Recording& recording, const TopSettings& settings, size_t rows, Libraries libraries)
      : recording_(recording), settings_(settings), rows_(rows) {
    state_.sums_up_libraries = libraries == Libraries::kSummedUp;
    state_.filter = settings.filter;
    if (settings.sort) state_.sorts[0] = *settings.sort;
  }

  base::Result<> take() {
    const bool is_first = history_.now() == nullptr;
    auto sample = take_sample(recording_,
                              {.pid = settings_.pid,
                               .image = settings_.image,
                               .first_names = is_first ? std::max<size_t>(rows_, 1) : 0,
                               .threads = false},
                              settings_.names_from);
    if (!sample) return std::unexpected(std::move(sample).error());
    // Another program's stacks have other names.
    if (!is_first && history_.now()->process.image != sample->process.image) names_.clear();
    names_.add(sample->named);
    const bool has_new_scan = sample->figures.scans > scans_;
    scans_ = sample->figures.scans;
    const client::ProgramId program{sample->process.pid, sample->process.image};
    history_.add(std::make_shared<const Sample>(*std::move(sample)));
    if (has_new_scan) {
      // If it can't be read, leaks are unknown.
      if (auto leaks = take_leaks(recording_, program); leaks && leaks->leaks.scanned)
        history_.add_leaks(*std::move(leaks));
    }
    return name_rows(program);
  }

  [[nodiscard]] const History& history() const { return history_; }
  [[nodiscard]] const NameBook& names() const { return names_; }
  [[nodiscard]] const State& state() const { return state_; }

 private:
  // A filter needs more names than those shown.
  base::Result<> name_rows(client::ProgramId program) {
    for (bool is_named = false; !is_named;) {
      const Table table = make_table(history_, names_, state_);
      std::vector<uint64_t> wanted = table.names_next;
      for (size_t i = 0; i < std::min(rows_, table.order.size()); ++i) {
        const uint64_t id = table.order[i].key;
        if (id != kLibrariesKey && names_.find(id) == nullptr) wanted.push_back(id);
      }
      is_named = wanted.empty();
      if (is_named) break;
      const auto named = take_names(
          recording_, {.pid = program.pid, .image = program.image, .names = std::move(wanted)}, settings_.names_from);
      if (!named) return std::unexpected(named.error());
      if (named->empty()) break;  // whatever was asked for isn't there
      names_.add(*named);
    }
    return {};
  }

  client::Recording& recording_;
  const TopSettings& settings_;
  size_t rows_;
  History history_;
  NameBook names_;
  State state_;
  uint32_t scans_ = 0;
};

// Events of the last second may not have been written yet. A failure is that of the next sample, too.
void count_all(client::Recording& recording, const TopSettings& settings) {
  query::Query query;
  query.listing.stacks = query.counting.statistics = query.counting.lifetimes = query.leaks.scans = false;
  (void)recording.report({settings.pid, settings.image}, query);
}

std::optional<int64_t> whole_number(const std::optional<double>& value) {
  return value ? std::optional(static_cast<int64_t>(*value)) : std::nullopt;
}

// `name` is null if unknown.
void write_row(JsonWriter& json, const TableRow& row, const NamedStack* name, uint64_t reserved_bytes) {
  const JsonObject object(json);
  json.member("id", row.key);
  if (name != nullptr) {
    json.member("function", name->function);
    json.member("site", name->sites.front());
    json.member("module", json::or_null(name->module));
  } else {
    for (const char* member : {"function", "site", "module"}) json.member(member, nullptr);
  }
  json.member("live_bytes", whole_number(row.of(Figure::kLive)));
  json.member("live_blocks", whole_number(row.of(Figure::kBlocks)));
  json.member("growth_bytes", whole_number(row.of(Figure::kGrowth)));
  json.member("bytes_per_second", row.of(Figure::kRate));
  json.member("allocations_per_second", row.of(Figure::kCalls));
  json.member("mean_age_ns", whole_number(row.of(Figure::kAge)));
  json.member("mean_lifetime_ns", whole_number(row.of(Figure::kLifetime)));
  json.member("temporary_allocations", whole_number(row.of(Figure::kTemporary)));
  json.member("leaked_bytes", whole_number(row.of(Figure::kLeaked)));
  json.member("allocated_bytes", whole_number(row.of(Figure::kAllocated)));
  json.member("allocations", whole_number(row.of(Figure::kAllocations)));
  if (reserved_bytes != 0) json.member("reserved_bytes", reserved_bytes);
}

void write_process(JsonWriter& json, const Sample& sample) {
  const JsonObject object(json);
  json.member("pid", sample.process.pid);
  json.member("image", sample.process.image);
  json.member("program", sample.process.program);
  json.member("via", sample.process.via);
  json.member("runs", sample.process.runs);
  json.member("is_recording", sample.process.runs && sample.figures.is_on);
}

void write_totals(JsonWriter& json, const History& history) {
  const report::Totals& totals = history.now()->totals;
  const JsonObject object(json);
  json.member("live_bytes", whole_number(history.value(Gauge::kLive)));
  json.member("live_blocks", whole_number(history.value(Gauge::kBlocks)));
  json.member("peak_live_bytes", totals.peak_live_bytes.if_known());
  json.member("peak_error_bytes", base::Known(totals.peak_error_bytes, totals.peak_live_bytes.is_known()).if_known());
  json.member("allocations", totals.allocations.if_known());
  json.member("releases", totals.releases.if_known());
  json.member("allocations_per_second", history.value(Gauge::kAllocations));
  json.member("releases_per_second", history.value(Gauge::kReleases));
  json.member("resident_bytes", history.now()->figures.resident_bytes);
  json.member("log_share", history.value(Gauge::kLog));
  json.member("lost_events", history.now()->figures.lost_events);
  json.member("paused_by_tracer_ns", history.now()->figures.paused_by_tracer_ns);
}

void write_leaks(JsonWriter& json, const History& history) {
  if (!history.leaks()) return json.value(nullptr);
  const report::Leaks& leaks = history.leaks()->leaks;
  const JsonObject object(json);
  json.member("scan", history.leaks()->scan);
  write_json(json.key("definite"), leaks.definite);
  write_json(json.key("indirect"), leaks.indirect);
  write_json(json.key("possible"), leaks.possible);
}

}  // namespace

std::vector<std::string> figure_words() {
  std::vector<std::string> words;
  for (const auto& [word, figure] : kWords) words.emplace_back(word);
  return words;
}

std::optional<Figure> figure_of(std::string_view word) {
  const auto* const found = std::ranges::find(kWords, word, [](const auto& entry) { return entry.first; });
  return found == kWords.end() ? std::nullopt : std::optional(found->second);
}

std::string json_line(const History& history, const NameBook& names, const State& state, size_t rows) {
  const Sample& sample = *history.now();
  const Table table = make_table(history, names, state);
  const uint64_t behind =
      sample.freshness.is_behind() ? sample.freshness.written_bytes - sample.freshness.read_bytes : 0;
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.member("format", "heaptap-top");
  json.member("version", 1);
  json.member("time_ns", sample.figures.time_ns);
  write_process(json.key("process"), sample);
  write_totals(json.key("totals"), history);
  json.member("behind_bytes", behind);
  json.member("behind_ns", sample.behind_ns());
  write_leaks(json.key("leaks"), history);
  json.member("stack_count", table.order.size());
  json.member("hidden_stacks", table.hidden);
  json.key("stacks").begin_array();
  for (size_t i = 0; i < std::min(rows, table.order.size()); ++i) {
    const uint64_t id = table.order[i].key;
    const report::StackCount* const count = history.count_of(id);
    write_row(json, row_of(history, table, state, id), names.find(id), count == nullptr ? 0 : count->reserved_bytes);
  }
  json.end_array();
  json.end_object();
  return text += '\n';
}

base::Result<std::string> picture_as_text(client::Recording& recording, const TopSettings& settings, size_t width,
                                          const Wait& wait) {
  const size_t rows = settings.rows == 0 ? kTextRows : settings.rows;
  Samples samples(recording, settings, rows, Samples::Libraries::kSummedUp);
  HEAPTAP_TRY(samples.take());
  if (wait) {
    if (!wait(settings.delay_ns)) return std::string();
    count_all(recording, settings);
    // Of one that has ended in between, the first sample is all that is known.
    if (auto taken = samples.take(); !taken && recording.is_live()) return std::unexpected(std::move(taken).error());
  }
  Table table = make_table(samples.history(), samples.names(), samples.state());
  // The sum of libraries' memory is always shown.
  if (table.libraries && rows < table.order.size()) std::swap(table.order[rows - 1], table.order.back());
  Layout layout = layout_of(width, 24, false);
  layout.height = layout.head_line() + 1 + std::max<size_t>(1, std::min(rows, table.order.size()));
  const State state = settled(samples.state(), table, layout.page_rows());
  Picture picture =
      make_picture({.history = samples.history(), .names = samples.names(), .table = table, .state = state}, layout);
  picture.selected.reset();
  return draw(picture, layout, !locale_is_utf8()).grid.text(settings.color);
}

base::Result<> write_json_lines(client::Recording& recording, const TopSettings& settings, const WriteLine& write,
                                const Wait& wait) {
  const size_t rows = settings.rows == 0 ? kJsonRows : settings.rows;
  Samples samples(recording, settings, rows, Samples::Libraries::kListed);
  for (uint64_t made = 0; settings.count == 0 || made < settings.count; ++made) {
    if (made != 0 && !wait(settings.delay_ns)) return {};
    if (auto taken = samples.take(); !taken) {
      const bool has_ended = made != 0 && !recording.is_live();
      return has_ended ? base::Result<>{} : taken;
    }
    const auto goes_on = write(json_line(samples.history(), samples.names(), samples.state(), rows));
    if (!goes_on) return std::unexpected(goes_on.error());
    const Sample& now = *samples.history().now();
    if (!*goes_on || !now.is_live || !now.process.runs) return {};
  }
  return {};
}

}  // namespace heaptap::top
