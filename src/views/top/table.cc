#include "views/top/table.h"

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <string_view>

namespace heaptap::top {
namespace {

constexpr size_t kMaxNamesAtOnce = 1000;

char small_letter(char character) {
  return character >= 'A' && character <= 'Z' ? static_cast<char>(character - 'A' + 'a') : character;
}

bool has_capital(const std::string& text) {
  return std::ranges::any_of(text, [](char character) { return character >= 'A' && character <= 'Z'; });
}

// The larger one comes first; unknown values come last in either order.
double weight_of(const std::optional<double>& value, bool reversed) {
  constexpr double kLast = -1e300;
  return !value ? kLast : reversed ? -*value : *value;
}

void sort(Table& table) {
  std::ranges::sort(table.order, [](const Table::Place& a, const Table::Place& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.key < b.key;
  });
}

// Up to the moment that the counts are of.
base::Known<uint64_t> age_ns_of(const Sample& sample, const report::StackCount& count) {
  return {sample.counted_until_ns - std::min(sample.counted_until_ns, count.live_since_ns.counted()),
          count.live_since_ns.is_known()};
}

TableRow stack_row(const History& history, uint64_t id) {
  const Sample& sample = *history.now();
  TableRow row{.key = id};
  const report::StackCount* const found = history.count_of(id);
  if (found == nullptr) return row;
  const report::StackCount& count = *found;
  row.of(Figure::kLive) = to_double(count.live_bytes);
  row.of(Figure::kBlocks) = to_double(count.live_blocks);
  row.of(Figure::kReleases) = to_double(count.releases);
  if (const auto growth = history.growth_of(id)) row.of(Figure::kGrowth) = static_cast<double>(*growth);
  row.of(Figure::kRate) = history.bytes_per_second_of(id);
  row.of(Figure::kCalls) = history.calls_per_second_of(id);
  const uint64_t releases = count.releases.if_known().value_or(0);
  if (const auto lifetime_ns = to_double(count.lifetime_ns); lifetime_ns && releases != 0)
    row.of(Figure::kLifetime) = *lifetime_ns / static_cast<double>(releases);
  if (count.live_blocks.if_known().value_or(0) != 0) row.of(Figure::kAge) = to_double(age_ns_of(sample, count));
  if (sample.totals.temporary_allocations.is_known())
    row.of(Figure::kTemporary) = static_cast<double>(count.temporary_allocations);
  if (const auto leaked = history.leaked_bytes_of(id); leaked && !count.mapping && !count.pooled)
    row.of(Figure::kLeaked) = static_cast<double>(*leaked);
  row.of(Figure::kAllocated) = static_cast<double>(count.allocated_bytes);
  row.of(Figure::kAllocations) = static_cast<double>(count.allocations);
  return row;
}

TableRow thread_row(const History& history, uint64_t number) {
  TableRow row{.key = number};
  const auto threads = report::or_none(history.now()->threads);
  const auto found = std::ranges::find(threads, number, &report::ThreadEntry::number);
  if (found == threads.end()) return row;
  row.of(Figure::kAllocated) = static_cast<double>(found->allocated_bytes);
  row.of(Figure::kAllocations) = static_cast<double>(found->allocations);
  row.of(Figure::kReleases) = static_cast<double>(found->releases);
  row.of(Figure::kRate) = history.bytes_per_second_of_thread(static_cast<uint32_t>(number));
  row.of(Figure::kCalls) = history.calls_per_second_of_thread(static_cast<uint32_t>(number));
  return row;
}

// The largest unnamed stacks: their names are requested first.
class NamesWanted {
 public:
  void add(uint64_t id, uint64_t live_bytes) { ids_.push_back({static_cast<double>(live_bytes), id}); }
  [[nodiscard]] uint64_t count() const { return ids_.size(); }
  std::vector<uint64_t> take_first() {
    const size_t taken = std::min(ids_.size(), kMaxNamesAtOnce);
    std::ranges::partial_sort(ids_, ids_.begin() + static_cast<std::ptrdiff_t>(taken),
                              [](const Table::Place& a, const Table::Place& b) {
                                return a.weight != b.weight ? a.weight > b.weight : a.key < b.key;
                              });
    std::vector<uint64_t> first;
    for (size_t i = 0; i < taken; ++i) first.push_back(ids_[i].key);
    return first;
  }

 private:
  std::vector<Table::Place> ids_;
};

void finish(Table& table, NamesWanted& wanted, const NameBook& names) {
  table.unnamed = wanted.count();
  if (!names.is_full()) table.names_next = wanted.take_first();
  sort(table);
}

// A sum with an unknown part is unknown. Mappings can't leak.
void add(TableRow& sum, const TableRow& row, bool is_first) {
  const bool has_leaks = sum.of(Figure::kLeaked) || row.of(Figure::kLeaked);
  const double leaked = sum.of(Figure::kLeaked).value_or(0) + row.of(Figure::kLeaked).value_or(0);
  for (size_t i = 0; i < kFigureCount; ++i) {
    if (is_first) {
      sum.figures[i] = row.figures[i];
    } else if (sum.figures[i] && row.figures[i]) {
      *sum.figures[i] += *row.figures[i];
    } else {
      sum.figures[i].reset();
    }
  }
  if (has_leaks) sum.of(Figure::kLeaked) = leaked;
}

// Sum of stacks, with what its means need: lifetimes of released blocks, ages of live ones.
struct StackSum {
  TableRow row;
  uint64_t stacks = 0;
  base::Known<uint64_t> lifetime_ns = 0;
  uint64_t releases = 0;
  base::Known<double> age_ns = 0;
  uint64_t live_blocks = 0;
};

void set_means(StackSum& sum) {
  sum.row.of(Figure::kLifetime).reset();
  sum.row.of(Figure::kAge).reset();
  if (const auto lifetime_ns = to_double(sum.lifetime_ns); lifetime_ns && sum.releases != 0)
    sum.row.of(Figure::kLifetime) = *lifetime_ns / static_cast<double>(sum.releases);
  if (const auto age_ns = sum.age_ns.if_known(); age_ns && sum.live_blocks != 0)
    sum.row.of(Figure::kAge) = *age_ns / static_cast<double>(sum.live_blocks);
}

void add_stack(StackSum& sum, const History& history, uint64_t id) {
  const Sample& sample = *history.now();
  const report::StackCount& count = sample.counts[id - 1];
  add(sum.row, stack_row(history, id), sum.stacks == 0);
  ++sum.stacks;
  sum.lifetime_ns += count.lifetime_ns;
  sum.releases += count.releases.counted();
  const base::Known<uint64_t> age_ns = age_ns_of(sample, count);
  sum.age_ns +=
      {static_cast<double>(age_ns.counted()) * static_cast<double>(count.live_blocks.counted()), age_ns.is_known()};
  sum.live_blocks += count.live_blocks.counted();
}

// One row, behind all others, or one each if there are no others.
void add_libraries(Table& table, const History& history, const State& state, std::span<const uint64_t> ids) {
  constexpr double kBehindAll = -std::numeric_limits<double>::infinity();
  if (table.order.empty()) {
    for (const uint64_t id : ids)
      table.order.push_back({weight_of(stack_row(history, id).of(state.sort()), state.reversed), id});
  } else if (!ids.empty()) {
    StackSum sum;
    for (const uint64_t id : ids) add_stack(sum, history, id);
    set_means(sum);
    sum.row.key = kLibrariesKey;
    table.order.push_back({kBehindAll, kLibrariesKey});
    table.libraries = sum.row;
    table.of_libraries = ids.size();
  }
}

Table stack_table(const History& history, const NameBook& names, const State& state) {
  Table table;
  NamesWanted wanted;
  std::vector<uint64_t> of_libraries;
  const bool sums_up = state.sums_up_libraries && state.filter.empty();
  const std::vector<report::StackCount>& counts = history.now()->counts;
  for (uint64_t id = 1; id <= counts.size(); ++id) {
    if (counts[id - 1].allocations == 0) continue;
    const NamedStack* const name = names.find(id);
    if (!state.filter.empty()) {
      if (name == nullptr) {
        wanted.add(id, counts[id - 1].live_bytes.counted());
        continue;
      }
      if (!passes(name->searched, state.filter)) {
        ++table.hidden;
        continue;
      }
    }
    if (sums_up && name != nullptr && name->of_libraries) {
      of_libraries.push_back(id);
      continue;
    }
    table.order.push_back({weight_of(stack_row(history, id).of(state.sort()), state.reversed), id});
  }
  add_libraries(table, history, state, of_libraries);
  finish(table, wanted, names);
  return table;
}

Table thread_table(const History& history, const State& state) {
  Table table;
  for (const report::ThreadEntry& thread : report::or_none(history.now()->threads)) {
    if (!state.filter.empty() && !passes(thread.name, state.filter)) {
      ++table.hidden;
      continue;
    }
    table.order.push_back(
        {weight_of(thread_row(history, thread.number).of(state.sort()), state.reversed), thread.number});
  }
  sort(table);
  return table;
}

Table module_table(const History& history, const NameBook& names, const State& state) {
  Table table;
  NamesWanted wanted;
  std::map<std::string, StackSum> sums;
  const Sample& sample = *history.now();
  for (uint64_t id = 1; id <= sample.counts.size(); ++id) {
    const report::StackCount& count = sample.counts[id - 1];
    if (count.allocations == 0) continue;
    const NamedStack* const name = names.find(id);
    if (name == nullptr) wanted.add(id, count.live_bytes.counted());
    if (name == nullptr) continue;
    add_stack(sums[name->module], history, id);
  }
  for (auto& [path, sum] : sums) {
    if (!state.filter.empty() && !passes(path, state.filter)) {
      ++table.hidden;
      continue;
    }
    sum.row.key = table.modules.size() + 1;
    sum.row.of(Figure::kStacks) = static_cast<double>(sum.stacks);
    set_means(sum);
    table.order.push_back({weight_of(sum.row.of(state.sort()), state.reversed), sum.row.key});
    table.modules.push_back(sum.row);
    table.names.push_back(path);
  }
  finish(table, wanted, names);
  return table;
}

}  // namespace

bool passes(const std::string& searched, const std::string& filter) {
  if (has_capital(filter)) return searched.find(filter) != std::string::npos;
  return !std::ranges::search(searched, filter, {}, small_letter, small_letter).empty() || filter.empty();
}

Table make_table(const History& history, const NameBook& names, const State& state) {
  if (history.now() == nullptr) return {};
  switch (state.grouping) {
    case Grouping::kThreads:
      return thread_table(history, state);
    case Grouping::kModules:
      return module_table(history, names, state);
    case Grouping::kStacks:
      break;
  }
  return stack_table(history, names, state);
}

TableRow row_of(const History& history, const Table& table, const State& state, uint64_t key) {
  switch (state.grouping) {
    case Grouping::kThreads:
      return thread_row(history, key);
    case Grouping::kModules:
      return key == 0 || key > table.modules.size() ? TableRow{} : table.modules[key - 1];
    case Grouping::kStacks:
      break;
  }
  if (key == kLibrariesKey) return table.libraries.value_or(TableRow{});
  return stack_row(history, key);
}

std::vector<Figure> figures_of(Grouping grouping, bool has_leaks) {
  if (grouping == Grouping::kThreads)
    return {Figure::kAllocated, Figure::kAllocations, Figure::kReleases, Figure::kRate, Figure::kCalls};
  std::vector<Figure> figures{Figure::kLive, Figure::kBlocks,   Figure::kGrowth,    Figure::kRate,     Figure::kCalls,
                              Figure::kAge,  Figure::kLifetime, Figure::kTemporary, Figure::kAllocated};
  if (has_leaks) figures.insert(figures.begin() + 3, Figure::kLeaked);
  if (grouping == Grouping::kModules) figures.push_back(Figure::kStacks);
  return figures;
}

State settled(State state, const Table& table, size_t page_rows) {
  const size_t count = table.order.size();
  if (state.followed != 0) {
    const auto found = std::ranges::find(table.order, state.followed, &Table::Place::key);
    if (found != table.order.end()) state.cursor = static_cast<size_t>(found - table.order.begin());
  }
  state.cursor = count == 0 ? 0 : std::min(state.cursor, count - 1);
  // Without a chosen row, the cursor stays on the first one.
  state.followed = state.cursor == 0 ? 0 : table.order[state.cursor].key;
  const size_t page = std::max<size_t>(page_rows, 1);
  if (state.cursor < state.first) state.first = state.cursor;
  if (state.cursor >= state.first + page) state.first = state.cursor - page + 1;
  state.first = std::min(state.first, count > page ? count - page : 0);
  return state;
}

}  // namespace heaptap::top
