#include "analysis/query/merge.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/report/focus.h"
#include "analysis/report/label_sums.h"
#include "analysis/report/process_sums.h"
#include "analysis/report/stack_sums.h"

namespace heaptap::query {
namespace {

using report::FrameIndex;
using report::Gap;
using report::Report;

// Byte string as a hash key: equal for equal contents.
class Key {
 public:
  Key& add(std::string_view text) {
    add(text.size());
    bytes_ += text;
    return *this;
  }
  Key& add(uint64_t number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
    return *this;
  }
  Key& add(const std::vector<FrameIndex>& frames) {
    add(frames.size());
    for (const FrameIndex frame : frames) add(uint64_t{frame});
    return *this;
  }
  Key& add(const std::vector<std::string>& texts) {
    add(texts.size());
    for (const std::string& text : texts) add(text);
    return *this;
  }
  Key& add(const std::optional<report::ErrorEntry::Origin>& origin) {
    add(uint64_t{origin.has_value()});
    if (origin) add(origin->function).add(origin->variant).add(origin->frames);
    return *this;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// What tells one frame from another, in every process.
auto identity_of(const model::Frame& frame) {
  return std::tie(frame.module.empty() ? frame.address : frame.offset, frame.module, frame.function, frame.symbol,
                  frame.aliases, frame.file, frame.line, frame.inlined);
}

FieldsHash hash_of(const model::Frame& frame) {
  return FieldsHash()
      .add(frame.module.empty() ? frame.address : frame.offset)
      .add(frame.module)
      .add(frame.function)
      .add(frame.file)
      .add(frame.line)
      .add(uint64_t{frame.inlined});
}

// What tells one stack from another; in nodes of the merged trie.
auto identity_of(const report::StackEntry& stack) {
  return std::tie(stack.frames.node, stack.frames.size, stack.frames.is_cut, stack.function, stack.variant,
                  stack.mapping, stack.pooled, stack.rare->pool, stack.rare->tags, stack.end, stack.frames_in_all,
                  stack.purpose);
}

FieldsHash hash_of(const report::StackEntry& stack) {
  return FieldsHash()
      .add(uint64_t{stack.frames.node} << 32 | stack.frames.size)
      .add(stack.function)
      .add(stack.variant)
      .add(stack.rare->pool)
      .add(stack.rare->tags.size())
      .add(stack.frames_in_all);
}

std::string key_of(const report::ErrorEntry& error) {
  return Key()
      .add(error.kind)
      .add(error.function)
      .add(error.variant)
      .add(error.frames)
      .add(error.allocated)
      .add(error.released)
      .take();
}

void move_frames(std::vector<FrameIndex>& frames, const std::vector<FrameIndex>& places) {
  for (FrameIndex& frame : frames) frame = places[frame];
}

void add_stack(report::StackEntry& sum, const report::StackEntry& part) {
  report::add_figures(sum, part);
  sum.threads.insert(sum.threads.end(), part.threads.begin(), part.threads.end());
}

// What can be merged of a stack.
void prepare(report::StackEntry& stack, bool has_peak) {
  if (!has_peak) stack.peak_bytes = 0;
  if (stack.rare->mapped_peak_bytes != 0) stack.rare.edit().mapped_peak_bytes = 0;  // peaks of other moments
  stack.lifetime_ns.set_unknown();
}

void add_scan(report::ScanFacts& sum, const report::ScanFacts& part) {
  sum.stopped_ns += part.stopped_ns;
  sum.total_ns += part.total_ns;
  sum.read_bytes += part.read_bytes;
  sum.skipped_bytes += part.skipped_bytes;
  sum.threads += part.threads;
  sum.blocks += part.blocks;
  sum.pointers += part.pointers;
  sum.stored_bytes += part.stored_bytes;
}

void add_kept(report::Leaks& sum, const report::Leaks& part) {
  for (const report::KeptByLibrary& kept : part.kept_by_libraries) {
    const auto same = std::ranges::find(sum.kept_by_libraries, kept.purpose, &report::KeptByLibrary::purpose);
    if (same == sum.kept_by_libraries.end()) {
      sum.kept_by_libraries.push_back(kept);
    } else {
      same->reachable += kept.reachable;
      same->possible += kept.possible;
    }
  }
  report::sort_kept(sum.kept_by_libraries);
}

void add_suppressions(report::Leaks& sum, const report::Leaks& part) {
  for (const report::SuppressionEntry& entry : part.suppressions) {
    const auto same = std::ranges::find_if(sum.suppressions, [&](const report::SuppressionEntry& other) {
      return other.place == entry.place && other.text == entry.text;
    });
    if (same == sum.suppressions.end())
      sum.suppressions.push_back(entry);
    else
      same->hidden += entry.hidden;
  }
  for (const std::string& broad : part.broad_suppressions) {
    if (std::ranges::find(sum.broad_suppressions, broad) == sum.broad_suppressions.end())
      sum.broad_suppressions.push_back(broad);
  }
}

// The highest thread number in the report.
uint32_t last_thread_of(const Report& part) {
  uint32_t last = 0;
  for (const report::ThreadEntry& thread : report::or_none(part.threads)) last = std::max(last, thread.number);
  for (const report::StackEntry& stack : part.stacks) {
    for (const uint32_t thread : stack.threads) last = std::max(last, thread);
  }
  return last;
}

constexpr uint32_t kNotListed = ~uint32_t{0};

// The peak of live bytes in each of at most this many equal parts.
std::vector<uint64_t> course_of(const std::vector<report::TimelinePoint>& timeline) {
  constexpr size_t kParts = 64;
  std::vector<uint64_t> course(std::min(kParts, timeline.size()));
  for (size_t i = 0; i < timeline.size(); ++i) {
    uint64_t& most = course[i * course.size() / timeline.size()];
    most = std::max({most, timeline[i].peak_live_bytes, timeline[i].live_bytes});
  }
  return course;
}

bool leaks(const report::StackEntry& stack) { return stack.leaks && stack.leaks->may_be_lost(); }

}  // namespace

void Merger::add(Report part) {
  if (is_first_) {
    merged_.capture = part.capture;
    merged_.capture.lost_events = merged_.capture.event_count = merged_.capture.gaps = 0;
    merged_.capture.notes.clear();
    merged_.capture.calls.clear();
    merged_.filter = part.filter;
    merged_.skipped = part.skipped;
    merged_.errors_requested = true;
  }
  add_capture(part);
  add_totals(part.totals);
  add_leaks(part);
  add_known(part);
  add_ignored(part.ignored);
  const std::vector<FrameIndex> places = places_of(part.frames.all());
  add_crash(part, places);
  const uint32_t threads = last_thread_of(part);
  const bool has_peak = begin_larger_peak(part);
  add_labels(part, has_peak);
  const std::vector<uint32_t> stacks = add_stacks(part, nodes_.add(part.frames.trie(), places), has_peak);
  add_activity(part, stacks);
  add_suppressions_of_stacks(part, stacks);
  add_errors(part, places);
  add_threads(part);
  threads_ += threads;
  add_hints(part);
  for (const report::ModuleEntry& module : part.modules) {
    report::ModuleEntry& known = modules_.try_emplace(module.path, module).first->second;
    if (known.build_id != module.build_id) known.build_id.clear();
  }
  merged_.has_events = merged_.has_events && part.has_events;
  merged_.sizes.reset();
  all_unmatched_ = all_unmatched_ && part.unmatched;
  if (all_unmatched_) merged_.unmatched = part.unmatched;
  merged_.processes.push_back(report::entry_of(part));
  merged_.processes.back().live_bytes = course_of(part.timeline);
  merged_.processes.back().crash = std::move(part.crash);
  is_first_ = false;
}

void Merger::add_unread(report::ProcessEntry entry) {
  merged_.processes.push_back(std::move(entry));
  knows_calls_ = false;
  merged_.capture.calls.clear();
}

void Merger::add_capture(const Report& part) {
  model::Capture& sum = merged_.capture;
  const model::Capture& one = part.capture;
  sum.lost_events += one.lost_events;
  sum.event_count += one.event_count;
  sum.gaps |= one.gaps;
  sum.ended = sum.ended && one.ended;
  sum.detached = sum.detached && one.detached;
  sum.from_start = sum.from_start && one.from_start;
  sum.sample_interval =
      std::max(sum.sample_interval, one.sample_interval);  // bounds of errors are those of the coarser
  // Where they aren't known of one that was cut off, or not sampled, they aren't of all.
  knows_calls_ = knows_calls_ && !one.calls.empty();
  for (model::ThreadCalls calls : one.calls) {
    if (calls.thread != 0) calls.thread += threads_;
    sum.calls.push_back(calls);
  }
  if (!knows_calls_) sum.calls.clear();
  if (one.truncated && !sum.truncated) sum.damage = one.damage;
  sum.truncated = sum.truncated || one.truncated;
  for (model::Note note : one.notes) {
    note.pid = one.pid;
    sum.notes.push_back(std::move(note));
  }
}

void Merger::add_totals(const report::Totals& part) {
  report::Totals& sum = merged_.totals;
  sum.allocations += part.allocations;
  sum.releases += part.releases;
  sum.allocated_bytes += part.allocated_bytes;
  sum.temporary_allocations += part.temporary_allocations;
  sum.live_blocks += part.live_blocks;
  sum.live_bytes += part.live_bytes;
  sum.mapped_live_bytes += part.mapped_live_bytes;
  sum.mapped += part.mapped;
  sum.pool_allocations += part.pool_allocations;
  sum.pool_live_blocks += part.pool_live_blocks;
  sum.pool_live_bytes += part.pool_live_bytes;
  sum.open_resources += part.open_resources;
  sum.unknown_pool_releases += part.unknown_pool_releases;
  sum.bad_releases += part.bad_releases;
  sum.double_releases += part.double_releases;
  sum.mismatched_releases += part.mismatched_releases;
  sum.unknown_releases += part.unknown_releases;
  sum.unseen_releases += part.unseen_releases;
  sum.unwatched_releases += part.unwatched_releases;
  sum.peak_live_bytes.raise_to(part.peak_live_bytes);
  sum.peak_live_blocks.raise_to(part.peak_live_blocks);
  sum.sample_interval = std::max(sum.sample_interval, part.sample_interval);
  sum.peak_error_bytes = std::max(sum.peak_error_bytes, part.peak_error_bytes);
  sum.peak_error_blocks = std::max(sum.peak_error_blocks, part.peak_error_blocks);
  sum.peak_mapped_bytes.raise_to(part.peak_mapped_bytes);
  sum.peak_time_ns.set_unknown();
}

void Merger::add_leaks(const Report& part) {
  const report::Leaks& one = part.leaks;
  if (!one.scanned) return;
  report::Leaks& sum = merged_.leaks;
  sum.scan.at_end = (scanned_ == 0 || sum.scan.at_end) && one.scan.at_end;
  ++scanned_;
  sum.scanned = true;
  sum.definite += one.definite;
  sum.indirect += one.indirect;
  sum.possible += one.possible;
  sum.reachable += one.reachable;
  sum.suppressed += one.suppressed;
  sum.ignored += one.ignored;
  sum.unknown += one.unknown;
  sum.behind_headers += one.behind_headers;
  sum.behind_tags += one.behind_tags;
  sum.released_since += one.released_since;
  sum.pools += one.pools;
  sum.scan_count += one.scan_count;
  add_kept(sum, one);
  add_scan(sum.scan, one.scan);
  for (model::Note note : one.scan.notes) {
    note.pid = part.capture.pid;
    sum.scan.notes.push_back(std::move(note));
  }
  // Unused: used by none of the parts.
  if (scanned_ == 1)
    sum.unused_suppressions = one.unused_suppressions;
  else
    std::erase_if(sum.unused_suppressions, [&](const std::string& line) {
      return std::ranges::find(one.unused_suppressions, line) == one.unused_suppressions.end();
    });
  add_suppressions(sum, one);
}

// All parts are queried with the same rules.
void Merger::add_ignored(const report::Ignored& part) {
  std::vector<report::IgnoreRule>& sum = merged_.ignored.rules;
  if (is_first_)
    sum = part.rules;
  else
    for (size_t i = 0; i < std::min(sum.size(), part.rules.size()); ++i) sum[i].count += part.rules[i].count;
}

void Merger::add_known(const Report& part) {
  report::KnownVerdicts& sum = merged_.known;
  // A program that left without a scan, as another one was executed, has no leaks that could be known.
  const bool has_no_leaks = part.capture.executed && !part.leaks.scanned;
  sum.leaks = sum.leaks && (part.known.leaks || has_no_leaks);
  sum.releases = sum.releases && part.known.releases;
  sum.saw_all = sum.saw_all && part.known.saw_all;
  sum.follows = sum.follows && part.known.follows;
  sum.children = sum.children && part.known.children;
  for (const Gap gap : part.known.gaps) {
    if (std::ranges::find(sum.gaps, gap) == sum.gaps.end()) sum.gaps.push_back(gap);
  }
}

std::vector<FrameIndex> Merger::places_of(std::vector<model::Frame>& frames) {
  std::vector<FrameIndex> places;
  places.reserve(frames.size());
  for (model::Frame& frame : frames) {
    std::vector<model::Frame>& merged = merged_.frames.all();
    const FrameIndex place = frame_places_.place_of(
        hash_of(frame), [&](FrameIndex other) { return identity_of(merged[other]) == identity_of(frame); });
    places.push_back(place);
    if (place == merged.size())
      merged.push_back(std::move(frame));
    else if (merged[place].address != frame.address)
      merged[place].address = 0;  // module addresses differ between processes
  }
  return places;
}

// Peaks were at different times: those of stacks are of the process with the largest one alone. Forgets another process's.
bool Merger::begin_larger_peak(const Report& part) {
  const base::Known<uint64_t>& peak = part.totals.peak_live_bytes;
  if (!peak.is_known() || (largest_peak_ && peak.counted() <= *largest_peak_)) return false;
  largest_peak_ = peak.counted();
  for (report::StackEntry& stack : merged_.stacks) stack.peak_bytes = 0;
  for (report::LabelEntry& label : merged_.labels) label.sum.peak_bytes = 0;
  return true;
}

void Merger::add_labels(const Report& part, bool has_peak) {
  for (report::LabelEntry label : part.labels) {
    prepare(label.sum, has_peak);
    report::add_to_labels(merged_.labels, label);
  }
}

std::vector<uint32_t> Merger::add_stacks(Report& part, const std::vector<report::NodeIndex>& nodes, bool has_peak) {
  std::vector<uint32_t> made;
  made.reserve(part.stacks.size());
  boost::unordered_flat_map<uint64_t, uint64_t> ids;  // of the merged stack, by row of the part
  ids.reserve(part.stacks.size());
  const size_t known = merged_.stacks.size();
  std::vector<const report::StackEntry*> added;
  for (report::StackEntry& stack : part.stacks) {
    stack.frames.node = nodes[stack.frames.node];
    const uint32_t place = stack_places_.place_of(hash_of(stack), [&](uint32_t other) {
      return identity_of(other < known ? merged_.stacks[other] : *added[other - known]) == identity_of(stack);
    });
    if (place == known + added.size()) added.push_back(&stack);
    ids[stack.id] = place + uint64_t{1};
    stack.id = place + uint64_t{1};
  }
  for (report::StackEntry& stack : part.stacks) {
    made.push_back(static_cast<uint32_t>(stack.id - 1));
    for (uint32_t& thread : stack.threads) thread += threads_;
    prepare(stack, has_peak);
    if (stack.leaks && stack.leaks->held_by != 0) {
      const auto holder = ids.find(stack.leaks->held_by);
      stack.leaks.edit().held_by = holder == ids.end() ? 0 : holder->second;
    }
    if (stack.id > merged_.stacks.size())
      merged_.stacks.push_back(std::move(stack));
    else
      add_stack(merged_.stacks[stack.id - 1], stack);
  }
  return made;
}

// Times of several processes can't be compared: there is one interval.
void Merger::add_activity(const Report& part, const std::vector<uint32_t>& stacks) {
  all_have_activity_ = all_have_activity_ && part.activity.has_value();
  if (!all_have_activity_) return;
  const auto process = static_cast<uint32_t>(merged_.processes.size());
  const auto add_cells = [&](auto cells, auto& sum) {
    for (auto& cell : cells) {
      cell.stack = stacks[cell.stack];
      cell.thread += threads_;
      cell.process = process;
      cell.bin = 0;
    }
    report::unite(cells);
    sum.insert(sum.end(), cells.begin(), cells.end());
  };
  if (!merged_.activity)
    merged_.activity = report::Activity{.start_ns = 0, .width_ns = 1, .bin_count = 1, .cells = {}, .left = {}};
  merged_.activity->width_ns = std::max(merged_.activity->width_ns, part.capture.duration_ns);
  add_cells(part.activity->cells, merged_.activity->cells);
  add_cells(part.activity->left, merged_.activity->left);
}

void Merger::add_suppressions_of_stacks(const Report& part, const std::vector<uint32_t>& stacks) {
  for (const auto& [stack, text] : part.stack_suppressions)
    merged_.stack_suppressions.emplace_back(stacks[stack], text);
}

// The merged report has the main process's.
void Merger::add_crash(Report& part, const std::vector<FrameIndex>& places) {
  if (!part.crash) return;
  move_frames(part.crash->frames, places);
  if (part.crash->thread != 0) part.crash->thread += threads_;
  if (is_first_) merged_.crash = part.crash;
}

void Merger::add_errors(Report& part, const std::vector<FrameIndex>& places) {
  merged_.errors_requested = merged_.errors_requested && part.errors_requested;
  merged_.errors_dropped += part.errors_dropped;
  for (report::ErrorEntry& error : part.errors) {
    move_frames(error.frames, places);
    if (error.allocated) move_frames(error.allocated->frames, places);
    if (error.released) move_frames(error.released->frames, places);
    const auto [found, is_new] = error_places_.try_emplace(key_of(error), merged_.errors.size());
    if (is_new)
      merged_.errors.push_back(std::move(error));
    else
      merged_.errors[found->second].count += error.count;
  }
}

void Merger::add_threads(const Report& part) {
  if (!part.threads) merged_.threads.reset();
  if (!merged_.threads) return;
  for (report::ThreadEntry thread : report::or_none(part.threads)) {
    thread.number += threads_;
    thread.pid = part.capture.pid;
    thread.process = static_cast<uint32_t>(merged_.processes.size());
    merged_.threads->push_back(std::move(thread));
  }
}

void Merger::add_hints(const Report& part) {
  for (const model::SymbolHint& hint : part.symbol_hints) {
    const auto same = std::ranges::find_if(merged_.symbol_hints, [&](const model::SymbolHint& other) {
      return other.path == hint.path && other.lack == hint.lack;
    });
    if (same == merged_.symbol_hints.end())
      merged_.symbol_hints.push_back(hint);
    else
      same->without_names = same->without_names || hint.without_names;
  }
}

void Merger::settle_unscanned() {
  const report::ProcessSums sums = report::sum_of(merged_.processes);
  report::KnownVerdicts& known = merged_.known;
  if (sums.unscanned != 0 && merged_.leaks.scanned) known.gaps.push_back(Gap::kUnscannedProcess);
  if (sums.failed != 0) known.gaps.push_back(Gap::kUnreadTrace);
  if (sums.unscanned + sums.failed != 0 || !merged_.leaks.scanned) known.leaks = false;
  if (sums.failed != 0) known.releases = known.saw_all = known.follows = false;
}

void Merger::settle_peak() {
  const std::vector<report::ProcessEntry>& processes = merged_.processes;
  const bool is_one_process = std::ranges::all_of(processes, [&](const report::ProcessEntry& process) {
    return process.failure.empty() && process.capture.pid == processes.front().capture.pid;
  });
  if (!largest_peak_) {
    for (report::StackEntry& stack : merged_.stacks) stack.peak_bytes.set_unknown();
    for (report::LabelEntry& label : merged_.labels) label.sum.peak_bytes.set_unknown();
  }
  report::Totals& totals = merged_.totals;
  if (is_one_process) return;
  totals.peak_live_bytes = totals.peak_live_blocks = totals.peak_mapped_bytes = {0, false};
}

// Entries are large, and most aren't listed: their places are sorted.
void Merger::sort_stacks(const MergeOptions& options) {
  const SortKey sort = options.sort.value_or(sort_of(report::focus_of(merged_)));
  merged_.sort_key = name_of(sort);
  std::ranges::sort(merged_.labels, {}, [&](const report::LabelEntry& label) { return place_of(label.sum, sort); });
  std::vector<SortPlace> places;
  places.reserve(merged_.stacks.size());
  const bool leaks_only = options.leaks_only && merged_.leaks.scanned;
  for (const report::StackEntry& stack : merged_.stacks) {
    if (!leaks_only || leaks(stack)) places.push_back(place_of(stack, sort));
  }
  merged_.stack_count = places.size();
  const size_t listed = options.limit == 0 ? places.size() : std::min(options.limit, places.size());
  if (listed < places.size()) {
    std::ranges::nth_element(places, places.begin() + static_cast<std::ptrdiff_t>(listed));
    places.resize(listed);
  }
  std::ranges::sort(places);
  std::vector<report::StackEntry> stacks;
  stacks.reserve(listed);
  for (size_t i = 0; i < listed; ++i) stacks.push_back(std::move(merged_.stacks[places[i].id - 1]));
  merged_.stacks = std::move(stacks);
}

void Merger::list_stacks(const MergeOptions& options) {
  std::vector<report::StackEntry>& stacks = merged_.stacks;
  sort_stacks(options);
  std::vector<uint32_t> places(stack_places_.size(), kNotListed);
  for (uint32_t place = 0; place < stacks.size(); ++place) places[stacks[place].id - 1] = place;
  move_activity(places);
  for (report::StackEntry& stack : stacks) {
    std::ranges::sort(stack.threads);
    const auto equal = std::ranges::unique(stack.threads);
    stack.threads.erase(equal.begin(), equal.end());
    if (options.depth != 0) stack.frames = stack.frames.cut(options.depth);
  }
  std::ranges::stable_sort(merged_.errors, std::greater<>(), &report::ErrorEntry::count);
}

// Maps to the merged rows.
void Merger::move_activity(const std::vector<uint32_t>& places) {
  const auto move = [&](auto& cells) {
    std::erase_if(cells, [&](const auto& cell) { return places[cell.stack] == kNotListed; });
    for (auto& cell : cells) cell.stack = places[cell.stack];
    report::unite(cells);
  };
  if (!all_have_activity_) merged_.activity.reset();
  if (merged_.activity) {
    move(merged_.activity->cells);
    move(merged_.activity->left);
  }
  std::erase_if(merged_.stack_suppressions, [&](const auto& entry) { return places[entry.first] == kNotListed; });
  for (auto& [stack, text] : merged_.stack_suppressions) stack = places[stack];
}

// Frames of stacks and errors, in the order of their first use.
void Merger::keep_named_frames() {
  std::vector<FrameIndex> places(merged_.frames.size(), report::kNoFrame);
  std::vector<model::Frame> kept;
  report::FrameTrie trie;
  const auto place_of = [&](FrameIndex frame) {
    if (places[frame] == report::kNoFrame) {
      places[frame] = static_cast<FrameIndex>(kept.size());
      kept.push_back(std::move(merged_.frames.all()[frame]));
    }
    return places[frame];
  };
  const auto keep = [&](std::vector<FrameIndex>& frames) {
    for (FrameIndex& frame : frames) frame = place_of(frame);
  };
  report::TrieCopy copy(merged_.frames.trie(), trie, place_of);
  for (report::StackEntry& stack : merged_.stacks) stack.frames = copy(stack.frames);
  if (merged_.crash) keep(merged_.crash->frames);
  for (report::ProcessEntry& process : merged_.processes) {
    if (process.crash) keep(process.crash->frames);
  }
  for (report::ErrorEntry& error : merged_.errors) {
    keep(error.frames);
    if (error.allocated) keep(error.allocated->frames);
    if (error.released) keep(error.released->frames);
  }
  merged_.frames = {std::move(kept), std::move(trie)};
}

Report Merger::finish(const MergeOptions& options) && {
  constexpr size_t kMaxHints = 8;
  merged_.of_run = true;
  settle_unscanned();
  settle_peak();
  list_stacks(options);
  keep_named_frames();
  for (auto& [path, module] : modules_) merged_.modules.push_back(std::move(module));
  if (!all_unmatched_) merged_.unmatched.reset();
  if (merged_.symbol_hints.size() > kMaxHints) merged_.symbol_hints.resize(kMaxHints);
  return std::move(merged_);
}

Report merge(std::vector<Report> parts, const MergeOptions& options) {
  Merger merger;
  for (Report& part : parts) merger.add(std::move(part));
  return std::move(merger).finish(options);
}

}  // namespace heaptap::query
