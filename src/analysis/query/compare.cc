#include "analysis/query/compare.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/query/stack_matcher.h"

namespace heaptap::query {
namespace {

using report::ComparedStack;
using report::Figure;
using report::Figures;
using report::StackState;

// Stack in the comparison, while recordings are added one by one.
struct Row {
  ComparedStack stack;
  report::FramePath first_frames;  // of the first recording that has it
};

// Stack of the recording that is being added.
struct Part {
  std::string function;
  std::string variant;
  bool mapping = false;
  report::Purpose purpose = report::Purpose::kProgram;
  report::FramePath frames;  // of the pool
  uint64_t id = 0;
  Figures figures;
  uint64_t allocations = 0;  // known or not, as are the bytes
  uint64_t allocated_bytes = 0;
};

void forget_leaks(Figures& figures) {
  figures.set(Figure::kLeakedBytes, std::nullopt);
  figures.set(Figure::kLeakedBlocks, std::nullopt);
}

report::Recording recording_of(const report::Report& whole, std::optional<uint64_t> at_ns) {
  report::Recording recording;
  recording.report.capture = whole.capture;
  recording.report.last_event_ns = whole.last_event_ns;
  recording.report.has_events = whole.has_events;
  recording.report.known = whole.known;
  recording.report.totals = whole.totals;
  recording.report.leaks = whole.leaks;
  recording.report.ignored = whole.ignored;
  recording.report.trace_path = whole.trace_path;
  recording.report.filter = whole.filter;
  recording.report.unmatched = whole.unmatched;
  recording.report.skipped = whole.skipped;
  recording.at_ns = at_ns;
  recording.totals = report::figures_of(whole);
  // A scan at another time doesn't show this moment.
  if (at_ns) forget_leaks(recording.totals);
  return recording;
}

// Of a recording without the stack: 0 for its known figures.
Figures nothing_of(const report::Recording& recording, bool mapping) {
  Figures figures;
  for (const report::FigureFacts& facts : report::figures()) {
    const bool is_leak = facts.figure == Figure::kLeakedBytes || facts.figure == Figure::kLeakedBlocks;
    const bool is_peak = facts.figure == Figure::kPeakBytes;
    const bool is_known = is_peak ? recording.report.has_events : recording.totals[facts.figure].has_value();
    if (is_known && !(is_leak && mapping)) figures.set(facts.figure, 0);
  }
  return figures;
}

}  // namespace

class Comparer::Impl {
 public:
  explicit Impl(const CompareOptions& options) : options_(options) {}

  // Of the report nothing else is needed.
  std::vector<Part> take(const report::Report& report, std::optional<uint64_t> at_ns) {
    result_.recordings.push_back(recording_of(report, at_ns));
    const std::vector<report::NodeIndex> nodes = pool_.add(report);
    added_binaries_ = pool_.binaries_of(report);
    std::vector<Part> parts;
    parts.reserve(report.stacks.size());
    for (const report::StackEntry& stack : report.stacks) {
      Figures figures = report::figures_of(stack);
      if (at_ns) forget_leaks(figures);
      parts.push_back({.function = stack.function,
                       .variant = stack.variant,
                       .mapping = stack.mapping,
                       .purpose = stack.purpose,
                       .frames = {nodes[stack.frames.node], stack.frames.size, stack.frames.is_cut},
                       .id = stack.id,
                       .figures = figures,
                       .allocations = stack.allocations.counted(),
                       .allocated_bytes = stack.allocated_bytes.counted()});
    }
    return parts;
  }

  void add(std::vector<Part> parts) {
    std::vector<bool> is_matched(parts.size());
    if (result_.recordings.size() > 1) join(match(parts), parts, is_matched);
    rows_.reserve(rows_.size() + static_cast<size_t>(std::ranges::count(is_matched, false)));
    for (size_t i = 0; i < parts.size(); ++i) {
      if (!is_matched[i]) add_row(std::move(parts[i]));
    }
    for (Row& row : rows_) fill_side(row);
    binaries_.insert(added_binaries_.begin(), added_binaries_.end());
  }

  report::Comparison finish() {
    result_.sort = options_.sort;
    for (Row& row : rows_) conclude(row);
    choose();
    result_.frames = pool_.take();
    result_.unmatched_modules.assign(unnamed_modules_.begin(), unnamed_modules_.end());
    return std::move(result_);
  }

 private:
  Matching match(const std::vector<Part>& parts) {
    if (options_.same_trace) return match_by_id(parts);
    MatchingSide before{.stacks = {}, .binaries = binaries_};
    before.stacks.reserve(rows_.size());
    for (const Row& row : rows_) before.stacks.push_back(matched_of(row));
    MatchingSide after{.stacks = {}, .binaries = added_binaries_};
    after.stacks.reserve(parts.size());
    for (const Part& part : parts) {
      after.stacks.push_back({.function = called_by(part.function, part.variant),
                              .mapping = part.mapping,
                              .frames = part.frames,
                              .allocations = part.allocations,
                              .allocated_bytes = part.allocated_bytes});
    }
    Matching matching = match_stacks(pool_, before, after);
    unnamed_modules_.insert(matching.unnamed_modules.begin(), matching.unnamed_modules.end());
    return matching;
  }

  [[nodiscard]] Matching match_by_id(const std::vector<Part>& parts) const {
    std::map<uint64_t, size_t> rows;
    for (size_t i = 0; i < rows_.size(); ++i) {
      for (const report::StackSide& side : rows_[i].stack.sides) {
        for (const uint64_t id : side.ids) rows.emplace(id, i);
      }
    }
    Matching matching;
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto row = rows.find(parts[i].id);
      if (row != rows.end()) matching.matches.push_back({.before = {row->second}, .after = {i}});
    }
    return matching;
  }

  static std::string called_by(const std::string& function, const std::string& variant) {
    return function + "\n" + variant;
  }

  // By the last recording that has the stack.
  static MatchedStack matched_of(const Row& row) {
    const auto side = std::find_if(row.stack.sides.rbegin(), row.stack.sides.rend(),
                                   [](const report::StackSide& each) { return !each.ids.empty(); });
    return {.function = called_by(row.stack.function, row.stack.variant),
            .mapping = row.stack.mapping,
            .frames = row.stack.frames,
            .allocations = side->figures[Figure::kAllocations].value_or(0),
            .allocated_bytes = side->figures[Figure::kAllocatedBytes].value_or(0)};
  }

  // Merges rows of the same stack, and adds up its figures.
  void join(const Matching& matching, const std::vector<Part>& parts, std::vector<bool>& is_matched) {
    std::vector<bool> is_joined(rows_.size());
    for (const StackMatch& found : matching.matches) {
      Row& row = rows_[found.before.front()];
      for (size_t i = 1; i < found.before.size(); ++i) {
        merge(row, rows_[found.before[i]]);
        is_joined[found.before[i]] = true;
      }
      report::StackSide side;
      for (const size_t index : found.after) {
        add_part(side, parts[index]);
        is_matched[index] = true;
      }
      row.stack.sides.push_back(std::move(side));
      row.stack.moved = row.stack.moved || found.moved;
      row.stack.frames = parts[found.after.front()].frames;
    }
    size_t kept = 0;
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (is_joined[i]) continue;
      if (kept != i) rows_[kept] = std::move(rows_[i]);
      ++kept;
    }
    rows_.resize(kept);
  }

  static void merge(Row& row, const Row& other) {
    for (size_t i = 0; i < row.stack.sides.size(); ++i) {
      report::StackSide& side = row.stack.sides[i];
      const report::StackSide& more = other.stack.sides[i];
      side.ids.insert(side.ids.end(), more.ids.begin(), more.ids.end());
      side.figures += more.figures;
    }
  }

  static void add_part(report::StackSide& side, const Part& part) {
    if (side.ids.empty())
      side.figures = part.figures;
    else
      side.figures += part.figures;
    side.ids.push_back(part.id);
  }

  void add_row(Part part) {
    Row& row = rows_.emplace_back();
    row.stack.sides.reserve(result_.recordings.size());
    for (size_t i = 0; i + 1 < result_.recordings.size(); ++i) {
      row.stack.sides.push_back({{}, nothing_of(result_.recordings[i], part.mapping)});
    }
    add_part(row.stack.sides.emplace_back(), part);
    row.stack.function = std::move(part.function);
    row.stack.variant = std::move(part.variant);
    row.stack.mapping = part.mapping;
    row.stack.purpose = part.purpose;
    row.first_frames = row.stack.frames = part.frames;
  }

  // Of a row without a stack in the last recording.
  void fill_side(Row& row) const {
    if (row.stack.sides.size() == result_.recordings.size()) return;
    row.stack.sides.push_back({{}, nothing_of(result_.recordings.back(), row.stack.mapping)});
  }

  void conclude(Row& row) {
    ComparedStack& stack = row.stack;
    stack.state = state_of(stack);
    stack.growing = stack.sides.size() > 2 && is_growing(stack);
    if (stack.moved) stack.frames_before = row.first_frames;
    ++result_.states[static_cast<size_t>(stack.state)];
    result_.moved_count += stack.moved ? 1 : 0;
  }

  [[nodiscard]] StackState state_of(const ComparedStack& stack) const {
    const bool is_in_first = !stack.sides.front().ids.empty();
    const bool is_in_last = !stack.sides.back().ids.empty();
    if (!is_in_first && is_in_last) return StackState::kNew;
    if (is_in_first && !is_in_last) return StackState::kGone;
    const auto change = stack.change(options_.sort);
    if (!change) return StackState::kUnknown;
    return *change > 0 ? StackState::kGrown : *change < 0 ? StackState::kShrunk : StackState::kSame;
  }

  [[nodiscard]] bool is_growing(const ComparedStack& stack) const {
    for (size_t i = 1; i < stack.sides.size(); ++i) {
      const auto step =
          report::change_of(stack.sides[i - 1].figures[options_.sort], stack.sides[i].figures[options_.sort]);
      if (!step || *step < 0) return false;
    }
    return *stack.change(options_.sort) > 0;
  }

  static bool is_unchanged(const ComparedStack& stack) {
    return std::ranges::all_of(stack.sides, [&](const report::StackSide& side) {
      return side.ids.empty() == stack.sides.front().ids.empty() && side.figures == stack.sides.front().figures;
    });
  }

  // Unknown changes are listed.
  [[nodiscard]] bool is_above_floor(const ComparedStack& stack) const {
    const bool is_bytes = report::facts_of(options_.sort).is_bytes;
    const auto bytes = stack.change(is_bytes ? options_.sort : Figure::kAllocatedBytes);
    if (bytes && magnitude(*bytes) < options_.min_bytes) return false;
    const auto change = stack.change(options_.sort);
    const auto& before = result_.recordings.front().totals[options_.sort];
    const auto& after = result_.recordings.back().totals[options_.sort];
    if (!change || !before || !after) return true;
    const double whole = static_cast<double>(std::max(*before, *after));
    return static_cast<double>(magnitude(*change)) * 100 >= options_.min_percent * whole;
  }

  static uint64_t magnitude(int64_t change) {
    return change < 0 ? 0 - static_cast<uint64_t>(change) : static_cast<uint64_t>(change);
  }

  // Two recordings: the largest change first. More: the largest growth first. Unknown ones come last.
  [[nodiscard]] auto place_of(const ComparedStack& stack) const {
    const auto by = [&](Figure figure) {
      const auto change = stack.change(figure);
      const bool by_growth = stack.sides.size() > 2;
      const uint64_t growth = change ? static_cast<uint64_t>(*change) ^ uint64_t { 1 } << 63 : 0;
      const uint64_t size = change ? magnitude(*change) : 0;
      return std::pair(!change.has_value(), ~(by_growth ? growth : size));
    };
    const bool shrank = stack.change(options_.sort).value_or(0) < 0;
    return std::tuple(by(options_.sort), shrank, by(Figure::kAllocatedBytes));
  }

  // Removes rows that aren't listed, and sorts the others.
  void choose() {
    result_.stack_count = rows_.size();
    for (Row& row : rows_) {
      if (!options_.unchanged && is_unchanged(row.stack)) {
        ++result_.unchanged;
      } else if (!is_above_floor(row.stack)) {
        ++result_.below_floor;
      } else {
        result_.stacks.push_back(std::move(row.stack));
      }
    }
    std::ranges::stable_sort(result_.stacks, {}, [this](const ComparedStack& stack) { return place_of(stack); });
  }

  const CompareOptions options_;
  FramePool pool_;
  Binaries binaries_;        // of all recordings so far
  Binaries added_binaries_;  // of the last one
  std::vector<Row> rows_;
  std::set<std::string> unnamed_modules_;
  report::Comparison result_;
};

Comparer::Comparer(const CompareOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Comparer::~Comparer() = default;

void Comparer::add(const report::Report& report, std::optional<uint64_t> at_ns) {
  impl_->add(impl_->take(report, at_ns));
}

void Comparer::add(report::Report&& report, std::optional<uint64_t> at_ns) {
  std::vector<Part> parts;
  {
    const report::Report whole = std::move(report);
    parts = impl_->take(whole, at_ns);
  }
  impl_->add(std::move(parts));
}

report::Comparison Comparer::finish() && { return impl_->finish(); }

report::Comparison compare(const std::vector<ComparedReport>& reports, const CompareOptions& options) {
  Comparer comparer(options);
  for (const ComparedReport& compared : reports) comparer.add(*compared.report, compared.at_ns);
  return std::move(comparer).finish();
}

}  // namespace heaptap::query
