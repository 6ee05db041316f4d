// Data model of a report, already counted, sorted, filtered and named. Renderers (text, JSON) use nothing else. What may be
// unknown is a base::Known, or an optional where nothing was counted; never 0.
#pragma once
#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/activity.h"
#include "analysis/report/fragmentation.h"
#include "analysis/report/frame_list.h"
#include "analysis/report/ignored.h"
#include "analysis/report/leak_counts.h"
#include "analysis/report/leak_views.h"
#include "analysis/report/resident.h"
#include "analysis/report/skipped_names.h"
#include "analysis/report/stack_count.h"
#include "common/base/boxed.h"
#include "common/base/known.h"
#include "common/base/rare.h"
#include "common/model/capture.h"
#include "common/model/frame.h"
#include "common/model/mapped_memory.h"
#include "common/model/mark.h"
#include "common/model/symbol_hint.h"
#include "common/wire/log.h"

namespace heaptap::report {

struct Totals {
  base::Known<uint64_t> allocations = 0;
  base::Known<uint64_t> releases = 0;
  base::Known<uint64_t> allocated_bytes = 0;
  base::Known<uint64_t> temporary_allocations = 0;
  base::Known<uint64_t> live_blocks = 0;
  base::Known<uint64_t> live_bytes = 0;
  base::Known<uint64_t> peak_live_bytes = 0;
  base::Known<uint64_t> peak_live_blocks = 0;  // maximum number of live blocks (not necessarily at the peak of bytes)
  // Where blocks were sampled: figures of blocks are estimates (sample_bounds.h); 0: they are counts.
  uint64_t sample_interval = 0;
  // The peaks are that much lower or higher at most: of threads of --aggregate, or of samples, with their confidence.
  uint64_t peak_error_bytes = 0;
  uint64_t peak_error_blocks = 0;
  base::Known<uint64_t> mapped_live_bytes = 0;
  base::Known<uint64_t> peak_mapped_bytes = 0;
  model::MappedLevels mapped{};                      // the two above, by kind
  std::optional<Resident> resident = {};             // none: unknown
  std::optional<ResidentParts> resident_parts = {};  // none: unknown
  // Reported by the program: blocks in its own pools, which lie in blocks and mappings counted above, and other resources.
  base::Known<uint64_t> pool_allocations = 0;
  base::Known<uint64_t> pool_live_blocks = 0;
  base::Known<uint64_t> pool_live_bytes = 0;
  base::Known<uint64_t> open_resources = 0;
  base::Known<uint64_t> unknown_pool_releases = 0;  // of unknown blocks or resources
  base::Known<uint64_t> bad_releases = 0;           // never allocated, or into the middle of a block
  base::Known<uint64_t> double_releases = 0;
  base::Known<uint64_t> mismatched_releases = 0;
  base::Known<uint64_t> unknown_releases = 0;  // of blocks whose allocation wasn't seen
  base::Known<uint64_t> unseen_releases = 0;   // among `releases`: inferred, since the address was allocated again
  // Among `unknown_releases`: set if they are so many that unwatched functions must have allocated the blocks.
  uint64_t unwatched_releases = 0;
  base::Known<uint64_t> peak_time_ns = 0;  // where there is no time: in the capture's unit

  void set_live_unknown() { base::set_unknown(releases, live_blocks, live_bytes); }
  void set_peak_unknown() { base::set_unknown(peak_live_bytes, peak_live_blocks); }
  void set_bad_frees_unknown() { base::set_unknown(bad_releases, double_releases); }
  void set_calls_unknown() {
    base::set_unknown(allocations, releases, allocated_bytes, mapped_live_bytes, peak_mapped_bytes, pool_allocations,
                      pool_live_blocks, pool_live_bytes, open_resources, unknown_pool_releases, mismatched_releases,
                      unknown_releases, unseen_releases);
  }
};

// Difference between live memory at a window's end and at its start; negative: it shrank.
struct Growth {
  int64_t blocks = 0;
  int64_t bytes = 0;
};

// Reported part of the recording: its allocations, and the ones live at its end.
struct Window {
  std::string from;  // as requested: a time or a mark; empty: the beginning
  std::string to;    // empty: the end
  uint64_t from_ns = 0;
  uint64_t to_ns = ~uint64_t{0};
  bool from_is_earlier = false;  // a mark from before this program was executed: the window starts with the recording,
  bool to_is_earlier = false;    // and is empty
  bool has_older = false;        // it has a start; else nothing is older
  uint64_t older_released_blocks = 0;  // allocated before it, released in it
  uint64_t older_released_bytes = 0;
  Growth growth;
};

// Most stacks are of one thread.
using ThreadNumbers = boost::container::small_vector<uint32_t, 2>;

// What few stacks have.
struct RareFacts {
  model::MappedBytes mapped{};     // a mapping's live_bytes by kind
  uint64_t mapped_peak_bytes = 0;  // a mapping's own memory at the peak of mapped memory
  // Allocated before the recording, and found by a leak scan, without events and stack: the size of each. Empty: others.
  std::string earlier;
  std::string pool;               // name of a pool, or of the kind of resource
  std::vector<std::string> tags;  // program's tags active at the call, outermost first
};

// Programs have very many, so they are small.
struct StackEntry {
  uint64_t id = 0;  // of the pair of function and stack
  std::string function;
  std::string variant;   // "nothrow", "sized, aligned", …; empty for the plain form
  bool mapping = false;  // mmap and the like: only in the mapped totals
  bool pooled = false;   // blocks of a pool that the program reports, or resources: not in the totals of blocks either
  bool threads_known = true;                       // false: others than `threads` may have called it too
  bool ends_in_made_code = false;                  // of no file: of a JIT compiler
  wire::StackEnd end = wire::StackEnd::kComplete;  // why the frames end here
  Purpose purpose = Purpose::kProgram;
  uint32_t frames_in_all = 0;  // if not all are listed; else 0
  base::Rare<RareFacts> rare;
  [[nodiscard]] bool is_apart() const { return mapping || pooled; }
  // Mapped bytes that aren't the program's own memory: reserved addresses, and files. The own_… figures exclude them, as if never
  // mapped: those are shown with blocks' bytes, sorted and drawn.
  [[nodiscard]] uint64_t beside_memory_bytes() const {
    return mapped_bytes(model::MappedKind::kReserved) + mapped_bytes(model::MappedKind::kFile);
  }
  [[nodiscard]] base::Known<uint64_t> own_live_bytes() const { return own(live_bytes); }
  [[nodiscard]] base::Known<uint64_t> own_peak_bytes() const { return own(peak_bytes); }
  [[nodiscard]] base::Known<uint64_t> own_allocated_bytes() const { return own(allocated_bytes); }
  [[nodiscard]] base::Known<uint64_t> reserved_bytes() const {
    return {mapped_bytes(model::MappedKind::kReserved), live_bytes.is_known()};
  }
  void set_live_unknown() { base::set_unknown(releases, live_blocks, live_bytes); }
  void set_calls_unknown() { base::set_unknown(allocations, releases, allocated_bytes, mismatched_releases); }
  void set_times_unknown() { base::set_unknown(peak_bytes, lifetime_ns); }
  base::Known<uint64_t> allocations = 0;
  base::Known<uint64_t> releases = 0;  // of this stack's blocks
  base::Known<uint64_t> allocated_bytes = 0;
  base::Known<uint64_t> live_blocks = 0;
  base::Known<uint64_t> live_bytes = 0;
  base::Known<uint64_t> peak_bytes = 0;  // held at the process's peak_live_bytes
  base::Known<uint64_t> temporary_allocations = 0;
  base::Known<uint64_t> mismatched_releases = 0;
  base::Known<uint64_t> lifetime_ns = 0;  // sum over its released blocks
  ThreadNumbers threads;
  ScannedLeaks leaks;
  FramePath frames;            // its callers, innermost first, inlined ones included
  base::Boxed<Growth> growth;  // in a window with a start; unknown for mappings

 private:
  [[nodiscard]] uint64_t mapped_bytes(model::MappedKind kind) const { return rare->mapped[static_cast<size_t>(kind)]; }
  [[nodiscard]] base::Known<uint64_t> own(const base::Known<uint64_t>& bytes) const {
    return {bytes.counted() - std::min(bytes.counted(), beside_memory_bytes()), bytes.is_known()};
  }
};

// Sum of the stacks with the same tags, or of one pool's blocks.
struct LabelEntry {
  std::vector<std::string> tags;  // outermost first; empty: allocated without tags
  std::string pool;               // or kind of resource
  bool is_pool = false;           // else the tags are its name
  StackEntry sum;                 // of their figures
};

// Reason why something wasn't seen.
enum class Gap : uint8_t {
  kLostEvents,
  kDamagedLog,
  kOmittedObjects,
  kPastHooks,
  kMissedReleases,
  kUnwatchedFunctions,
  kSampled,  // of the blocks, only samples were recorded
  kSwitchedOff,
  kOwnAllocator,
  kDroppedPast,
  kNothingSeen,
  kLater,  // reason known to later versions only
  kRunning,
  kCutOff,
  // Of a run.
  kUnscannedProcess,
  kUnreadTrace,
  kUnrecordedChildren,  // the recorded processes themselves were seen completely
};

// Certainty of the verdicts. An uncertain one holds for what it reports; there may be more.
struct KnownVerdicts {
  bool leaks = true;      // lost blocks
  bool releases = true;   // bad, double and mismatched releases
  bool saw_all = true;    // all events from the start of the capture to the end of the trace
  bool follows = true;    // all releases of the recorded blocks, though some blocks may be missing
  bool any = true;        // false: none of its allocations were seen, so that figures mean nothing
  bool children = true;   // false: some ran unrecorded
  std::vector<Gap> gaps;  // reasons
};

struct ErrorEntry {
  std::string kind;  // "mismatched", "double", "bad", "interior"
  std::string function;
  std::string variant;
  uint64_t address = 0;
  uint64_t count = 1;  // same kind, same stacks; `address` is the first one's
  std::vector<FrameIndex> frames;
  wire::StackEnd end = wire::StackEnd::kComplete;
  bool is_short = false;  // the stack is the caller alone, or empty: no more was recorded
  struct Origin {
    std::string function;
    std::string variant;
    uint64_t size_bytes = 0;
    std::vector<FrameIndex> frames;
    wire::StackEnd end = wire::StackEnd::kComplete;
    bool is_short = false;
  };
  std::optional<Origin> allocated;
  std::optional<Origin> released;  // of a double release: the first one
};

struct SizeClass {  // blocks of lowest..highest bytes
  uint64_t lowest = 0;
  uint64_t highest = 0;
  uint64_t allocations = 0;
  uint64_t allocated_bytes = 0;
  uint64_t live_blocks = 0;
  uint64_t live_bytes = 0;
};

struct ExactSize {
  uint64_t size_bytes = 0;
  uint64_t allocations = 0;
  uint64_t live_blocks = 0;
};

// Of all blocks.
struct Sizes {
  std::vector<SizeClass> classes;
  std::vector<ExactSize> top;          // most allocations first
  uint64_t uncounted_allocations = 0;  // of sizes not in `top`: too many distinct ones
};

struct LifetimeClass {  // blocks released after lowest..highest ns (highest 0: no bound)
  uint64_t lowest_ns = 0;
  uint64_t highest_ns = 0;
  uint64_t blocks = 0;
  uint64_t bytes = 0;
};

struct TimelinePoint {
  uint64_t time_ns = 0;  // end of the interval
  uint64_t live_bytes = 0;
  base::Known<uint64_t> live_blocks = 0;
  uint64_t peak_live_bytes = 0;  // within the interval
  base::Known<uint64_t> allocations = 0;
  base::Known<uint64_t> releases = 0;
  base::Known<uint64_t> mapped_bytes = 0;
  base::Known<uint64_t> mapped_memory_bytes = 0;      // of these: anonymous and accessible
  base::Known<uint64_t> resident_bytes = {0, false};  // as last sampled
};

struct ThreadEntry {
  uint32_t number = 0;
  uint32_t kernel_id = 0;
  std::string name;
  uint64_t allocations = 0;
  uint64_t releases = 0;  // by this thread, of any thread's blocks
  uint64_t allocated_bytes = 0;
  uint32_t pid = 0;      // in a run: its process
  uint32_t process = 0;  // and the index in Report::processes
};

struct BlockEntry {
  uint64_t number = 0;
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  uint64_t allocated_at_ns = 0;
  uint32_t thread = 0;
  uint64_t stack_id = 0;
  std::string function;
  FrameIndex caller = kNoFrame;  // telling frame of its stack
  std::string name = {};         // given by the program
};

// Stack of the thread whose signal ended the process with a core dump.
struct Crash {
  uint32_t thread = 0;             // its number; 0: unknown
  std::vector<FrameIndex> frames;  // innermost first, inlined ones included
  wire::StackEnd end = wire::StackEnd::kComplete;
};

// One of the processes recorded together, or its state before it executed another program.
struct ProcessEntry {
  model::Capture capture;
  uint32_t image = 0;  // number of the program within the process, from 1, growing with each exec; 0: unknown
  std::string trace_path;
  std::string failure;  // why the trace can't be read; the numbers are meaningless then
  Totals totals;
  Leaks leaks;
  KnownVerdicts known = {};
  std::vector<uint64_t> live_bytes = {};  // maximum in each of some equal parts of its time; empty: unknown
  std::optional<Crash> crash = {};        // of a run: in the frames of its report; else none
};

// Code file mapped by the process.
struct ModuleEntry {
  std::string path;
  std::string build_id;  // in hex; empty: none, or the path had several files
};

// Kinds of a filter without a match, for a hint at one that matches.
struct UnmatchedFilter {
  bool by_name = false;
  bool by_thread = false;
};

// The entries of a list; none if it is unknown.
template <typename Entry>
std::span<const Entry> or_none(const std::optional<std::vector<Entry>>& list) {
  return list ? std::span<const Entry>(*list) : std::span<const Entry>();
}

struct Report {
  model::Capture capture;
  uint64_t last_event_ns = 0;  // time of the trace's last event, counted or not
  // False: totals only (--aggregate); no lifetimes, timeline, blocks, sizes of what was released.
  bool has_events = true;
  KnownVerdicts known;
  std::optional<Crash> crash = {};  // none: no crash, or its stack wasn't seen
  Totals totals;
  Leaks leaks;
  Ignored ignored = {};  // in the totals, and in no list
  std::vector<ErrorEntry> errors;
  bool errors_requested = false;  // --sanity
  uint64_t errors_dropped = 0;    // counted but not listed: too many distinct ones
  std::vector<StackEntry> stacks;
  uint64_t stack_count = 0;        // passed by the filters and not ignored, listed or not
  std::vector<LabelEntry> labels;  // of those stacks, by tags or pools, if requested
  std::vector<StackCount> counts;  // of all stacks, by id - 1; empty unless requested
  std::optional<Sizes> sizes = Sizes{};
  std::optional<std::vector<LifetimeClass>> lifetimes = std::vector<LifetimeClass>{};
  std::vector<TimelinePoint> timeline;
  uint64_t timeline_start_ns = 0;
  bool grows_to_the_end = false;  // live bytes grew throughout, and were still growing at the end
  std::optional<std::vector<ThreadEntry>> threads = std::vector<ThreadEntry>{};
  std::optional<std::vector<BlockEntry>> blocks = std::vector<BlockEntry>{};  // live; none unless requested
  std::string trace_path;
  std::vector<ProcessEntry> processes;  // all of the recording, this one first; empty if it is the only one
  bool of_run = false;                  // figures are sums over `processes` (analysis/query/merge.h)
  std::string run_path;                 // index file of the recording; empty: none
  std::optional<Window> window;         // empty: the whole recording
  std::vector<model::Mark> marks;       // of the recording
  std::string filter;                   // description of the filter; empty: none
  std::string sort_key;                 // of the stacks
  std::optional<Holders> holders;
  std::optional<Retained> retained;
  std::optional<Globals> globals;
  std::optional<std::vector<ScanEntry>> scans;
  std::optional<ScanChanges> scan_changes;
  std::optional<Fragmentation> fragmentation;  // with totals.resident_parts; else unknown
  std::optional<MomentPages> moment_pages;     // at the window's end, where it was asked
  std::optional<Activity> activity;
  std::optional<AddressSpace> address_space;
  std::optional<StackGraph> stack_graph;
  std::vector<StackHolders> stack_holders;                           // of the most significant stacks
  std::vector<std::pair<uint32_t, std::string>> stack_suppressions;  // of listed leaks: index into `stacks`, text
  std::string generated_suppressions;                                // for the listed leaks, if requested
  std::vector<model::SymbolHint> symbol_hints;  // of modules whose shown frames lack names or lines
  std::optional<UnmatchedFilter> unmatched;     // the filter has no match
  FrameTable frames;
  std::vector<ModuleEntry> modules;  // each path once, in order
  SkippedNames skipped = {};         // machinery defined by the user

  [[nodiscard]] FrameList list(FramePath path) const { return frames.list(path); }
  [[nodiscard]] FrameList list(const std::vector<FrameIndex>& indices) const { return frames.list(indices); }
  // End of the recording; of a truncated or running one, as far as known.
  [[nodiscard]] uint64_t end_ns() const { return std::max(capture.duration_ns, last_event_ns); }
};

}  // namespace heaptap::report
