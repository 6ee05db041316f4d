// Merging of reports of processes recorded together: sums where possible, else unknown.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/query/content_places.h"
#include "analysis/query/sort_key.h"
#include "analysis/report/node_merger.h"
#include "analysis/report/report.h"

namespace heaptap::query {

// Lists of the merged report. The parts must have all of their stacks, with all frames.
struct MergeOptions {
  std::optional<SortKey> sort = SortKey::kUsage;  // empty: by the merged report's focus
  size_t limit = 0;                               // stacks; 0: all
  uint32_t depth = 0;                             // frames of a stack; 0: all
  bool leaks_only = false;                        // if there was a scan, only stacks with leaks in it
};

// Incremental merge, one report after the other, so that they are never in memory together.
//
// - Stacks of one function with equal frames are merged. Frames are equal if all but the address is.
// - The common peak of several processes is unknown: theirs were at different times. What stacks held at a peak is that of the
//   process with the largest one (report::peak_process_of). Programs executed one after the other by one process have one: the
//   largest of theirs.
// - Leaks of a process without a scan are unknown: those of the others are a lower bound. Blocks left by a program that executed
//   another one are no leaks.
// - An ignored stack counts in each process that has it.
// - A thread gets a number that is unique among all processes; a note carries its process.
// - Data of single processes (times, sizes, lifetimes, blocks, holders) are dropped. Report::activity is kept, by process, if all
//   parts have it; and each process's course of live bytes.
class Merger {
 public:
  // The first one is the main program's; the merged report has its capture.
  void add(report::Report part);
  // Adds a process whose trace couldn't be read.
  void add_unread(report::ProcessEntry entry);
  [[nodiscard]] report::Report finish(const MergeOptions& options) &&;

 private:
  void add_capture(const report::Report& part);
  void add_totals(const report::Totals& part);
  void add_leaks(const report::Report& part);
  void add_known(const report::Report& part);
  void add_ignored(const report::Ignored& part);
  bool begin_larger_peak(const report::Report& part);
  void add_labels(const report::Report& part, bool has_peak);
  // Their places among the merged ones, before these are sorted.
  std::vector<uint32_t> add_stacks(report::Report& part, const std::vector<report::NodeIndex>& nodes, bool has_peak);
  void add_crash(report::Report& part, const std::vector<report::FrameIndex>& places);
  void add_errors(report::Report& part, const std::vector<report::FrameIndex>& places);
  void add_threads(const report::Report& part);
  void add_hints(const report::Report& part);
  void add_activity(const report::Report& part, const std::vector<uint32_t>& stacks);
  void add_suppressions_of_stacks(const report::Report& part, const std::vector<uint32_t>& stacks);
  std::vector<report::FrameIndex> places_of(std::vector<model::Frame>& frames);
  void settle_unscanned();
  void settle_peak();
  void list_stacks(const MergeOptions& options);
  void sort_stacks(const MergeOptions& options);
  void move_activity(const std::vector<uint32_t>& places);
  void keep_named_frames();

  report::Report merged_;
  bool is_first_ = true;
  bool all_unmatched_ = true;
  bool all_have_activity_ = true;
  uint32_t threads_ = 0;  // assigned so far
  bool knows_calls_ = true;
  uint64_t scanned_ = 0;
  std::optional<uint64_t> largest_peak_;                // so far
  std::map<std::string, report::ModuleEntry> modules_;  // by path
  ContentPlaces frame_places_;
  report::NodeMerger nodes_{merged_.frames.trie()};
  ContentPlaces stack_places_;
  std::unordered_map<std::string, size_t> error_places_;
};

report::Report merge(std::vector<report::Report> parts, const MergeOptions& options);

}  // namespace heaptap::query
