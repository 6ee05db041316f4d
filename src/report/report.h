// The Report: everything that a renderer shows, already counted, sorted, filtered and named. Renderers (text, JSON) know
// only this. Where a number isn't known it is an empty optional, never 0.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/capture.h"
#include "model/frame.h"
#include "model/mapped_memory.h"
#include "model/mark.h"
#include "model/symbol_hint.h"
#include "report/activity.h"
#include "report/frame_list.h"
#include "report/ignored.h"
#include "report/leak_counts.h"
#include "report/leak_views.h"
#include "report/machinery.h"
#include "report/stack_count.h"
#include "wire/log.h"

namespace heaptap::report {

struct Totals {
  uint64_t allocations = 0;
  uint64_t releases = 0;
  uint64_t allocated_bytes = 0;
  uint64_t temporary_allocations = 0;
  uint64_t live_blocks = 0;
  uint64_t live_bytes = 0;
  uint64_t peak_live_bytes = 0;
  uint64_t peak_live_blocks = 0;  // the most blocks alive at one time (not necessarily at the peak of bytes)
  uint64_t mapped_live_bytes = 0;
  uint64_t peak_mapped_bytes = 0;
  model::MappedLevels mapped{};  // what of that is what
  // What the program told of: blocks in pools of its own, which lie in blocks and mappings that are counted above, and other
  // resources.
  uint64_t pool_allocations = 0;
  uint64_t pool_live_blocks = 0;
  uint64_t pool_live_bytes = 0;
  uint64_t open_resources = 0;
  uint64_t unknown_pool_releases = 0;  // of what wasn't known to be there
  uint64_t bad_releases = 0;           // never allocated, or into the middle of a block
  uint64_t double_releases = 0;
  uint64_t mismatched_releases = 0;
  uint64_t unknown_releases = 0;  // of blocks whose allocation wasn't seen
  uint64_t unseen_releases = 0;   // among `releases`: concluded, since the block's address was handed out again
  // Among `unknown_releases`, where they are so many that functions must have given the blocks out that nobody watches.
  uint64_t unwatched_releases = 0;
  uint64_t peak_time_ns = 0;
  // Where not, the numbers of that name mean nothing.
  bool calls_known = true;  // all but live_blocks and live_bytes
  bool live_known = true;   // releases, live_blocks, live_bytes
  bool peak_known = true;   // peak_live_bytes, peak_live_blocks
  bool mapped_peak_known = true;
  bool peak_time_known = true;
  bool temporary_known = true;
  bool bad_frees_known = true;  // which are double, and which bad
  bool mismatched_known = true;
  bool blocks_known = true;  // live_blocks, peak_live_blocks
};

// How much more is live at a window's end than at its beginning; less where it is negative.
struct Growth {
  int64_t blocks = 0;
  int64_t bytes = 0;
};

// The part of the recording that is shown: what was allocated in it, and what of that is live at its end.
struct Window {
  std::string from;  // as it was asked for: a time or a mark; empty: the beginning
  std::string to;    // empty: the end
  uint64_t from_ns = 0;
  uint64_t to_ns = ~uint64_t{0};
  bool from_is_earlier = false;  // a mark from before this program was executed: it begins where the recording does,
  bool to_is_earlier = false;    // and nothing is in it
  bool has_older = false;        // it has a beginning; else nothing is older
  uint64_t older_released_blocks = 0;  // from before it, released in it
  uint64_t older_released_bytes = 0;
  Growth growth;
};

struct StackEntry {
  uint64_t id = 0;  // of this function called from this stack
  std::string function;
  std::string variant;          // "nothrow", "sized, aligned", …; empty for the plain form
  bool mapping = false;         // mmap and its kin: not in the totals but the mapped ones
  model::MappedBytes mapped{};  // what its live_bytes are, where it is one
  bool pooled = false;  // blocks of a pool that the program told of, or resources: not in the totals of blocks either
  std::string pool;     // its name, or that of the kind of resource
  std::vector<std::string> tags;  // of the program's, that it was called under; the outermost first
  [[nodiscard]] bool is_apart() const { return mapping || pooled; }
  // What is mapped and no memory of the program's own: addresses that are only reserved, and files. The figures of its own memory are those
  // without it, as if that had never been mapped: what is held together with blocks' bytes, sorted and drawn.
  [[nodiscard]] uint64_t beside_memory_bytes() const {
    return mapped[static_cast<size_t>(model::MappedKind::kReserved)] +
           mapped[static_cast<size_t>(model::MappedKind::kFile)];
  }
  [[nodiscard]] uint64_t own_live_bytes() const { return live_bytes - std::min(live_bytes, beside_memory_bytes()); }
  [[nodiscard]] uint64_t own_peak_bytes() const { return peak_bytes - std::min(peak_bytes, beside_memory_bytes()); }
  [[nodiscard]] uint64_t own_allocated_bytes() const {
    return allocated_bytes - std::min(allocated_bytes, beside_memory_bytes());
  }
  uint64_t allocations = 0;
  uint64_t releases = 0;  // of this stack's blocks
  uint64_t allocated_bytes = 0;
  uint64_t live_blocks = 0;
  uint64_t live_bytes = 0;
  uint64_t peak_bytes = 0;  // held at the moment of the process's peak_live_bytes
  uint64_t temporary_allocations = 0;
  uint64_t mismatched_releases = 0;
  uint64_t lifetime_ns = 0;  // of its blocks that were released, summed
  std::vector<uint32_t> threads;
  std::optional<StackLeaks> leaks;  // empty where no scan was made
  std::vector<FrameIndex> frames;   // its callers, innermost first, inlined ones included
  bool live_known = true;           // releases, live_blocks, live_bytes
  bool calls_known = true;          // allocations, releases, allocated_bytes, mismatched_releases
  bool times_known = true;          // peak_bytes, lifetime_ns
  bool lifetime_known = true;       // lifetime_ns
  bool blocks_known = true;         // live_blocks
  bool mismatched_known = true;
  bool threads_known = true;
  bool temporary_known = true;
  wire::StackEnd end = wire::StackEnd::kComplete;  // why there are no further frames
  uint64_t frames_in_all = 0;                      // where not all are listed; else 0
  Purpose purpose = Purpose::kProgram;
  std::optional<Growth> growth = {};  // in a window that has a beginning; not known of mappings
};

// Stacks with the same tags, or blocks of one pool, together.
struct LabelEntry {
  std::vector<std::string> tags;  // the outermost first; none: of what was allocated without
  std::string pool;               // or the kind of resource
  bool is_pool = false;           // else the tags name it
  StackEntry sum;                 // their figures
};

// Why something wasn't seen.
enum class Gap : uint8_t {
  kLostEvents,
  kDamagedLog,
  kOmittedObjects,
  kPastHooks,
  kMissedReleases,
  kUnwatchedFunctions,
  kSwitchedOff,
  kOwnAllocator,
  kNothingSeen,
  kLater,  // a reason that a later version knows
  kRunning,
  kCutOff,
  // Of a run.
  kUnscannedProcess,
  kUnreadTrace,
  kUnrecordedChildren,  // what was seen of the recorded processes is all there was of them
};

// Which verdicts are certain. Where one isn't, what it speaks against is still so; there may be more of it.
struct Known {
  bool leaks = true;      // which blocks are lost
  bool releases = true;   // which releases are bad, double or mismatched
  bool saw_all = true;    // of what happened from where the capture began to where the trace ends
  bool follows = true;    // what became of all that was seen allocated, though other blocks may not have been seen
  bool any = true;        // false: nothing of what it allocates was seen, so that its figures tell nothing
  bool children = true;   // false: some ran unrecorded
  std::vector<Gap> gaps;  // why not
};

struct ErrorEntry {
  std::string kind;  // "mismatched", "double", "bad", "interior"
  std::string function;
  std::string variant;
  uint64_t address = 0;
  uint64_t count = 1;  // same kind, same stacks; the address is the first one's
  std::vector<FrameIndex> frames;
  struct Origin {
    std::string function;
    std::string variant;
    uint64_t size_bytes = 0;
    std::vector<FrameIndex> frames;
  };
  std::optional<Origin> allocated;
  std::optional<Origin> released;  // the first release of a double one
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

struct LifetimeClass {  // blocks released after lowest..highest ns (highest 0: no bound)
  uint64_t lowest_ns = 0;
  uint64_t highest_ns = 0;
  uint64_t blocks = 0;
  uint64_t bytes = 0;
};

struct TimelinePoint {
  uint64_t time_ns = 0;  // end of the interval
  uint64_t live_bytes = 0;
  uint64_t live_blocks = 0;
  uint64_t peak_live_bytes = 0;  // within the interval
  uint64_t allocations = 0;
  uint64_t releases = 0;
  uint64_t mapped_bytes = 0;
  uint64_t mapped_memory_bytes = 0;  // of these: of no file, and the program may touch them
};

struct ThreadEntry {
  uint32_t number = 0;
  uint32_t kernel_id = 0;
  std::string name;
  uint64_t allocations = 0;
  uint64_t releases = 0;  // made by this thread, of whosever blocks
  uint64_t allocated_bytes = 0;
  uint32_t pid = 0;      // of a run: its process,
  uint32_t process = 0;  // and that one's place in Report::processes
};

struct BlockEntry {
  uint64_t number = 0;
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  uint64_t allocated_at_ns = 0;
  uint32_t thread = 0;
  uint64_t stack_id = 0;
  std::string function;
  FrameIndex caller = kNoFrame;  // the telling frame of its stack
  std::string name = {};         // that the program gave it
};

// One of the processes that were recorded together, or what one was before it executed another program.
struct ProcessEntry {
  model::Capture capture;
  uint32_t image = 0;  // counts the programs that the process executed one after the other, from 1; 0: not known
  std::string trace_path;
  std::string failure;  // why the trace can't be read; then the numbers mean nothing
  Totals totals;
  Leaks leaks;
  bool leaks_known = true;                // false: there may be more leaks than `leaks` has
  bool any_known = true;                  // false: nothing was seen of it
  bool children_known = true;             // false: some of its children ran unrecorded
  std::vector<uint64_t> live_bytes = {};  // the most in each of some equal parts of its time; empty: not known
};

// A file of code that the process had mapped.
struct ModuleEntry {
  std::string path;
  std::string build_id;  // in hex; empty: it has none, or the path stood for several files
};

// What a filter that nothing passed was about, so that it can be said how to find one that something does.
struct UnmatchedFilter {
  bool by_name = false;
  bool by_thread = false;
};

struct Report {
  model::Capture capture;
  uint64_t last_event_ns = 0;  // when the last event of the trace was, also where it isn't counted
  bool has_events =
      true;  // false: totals only (--aggregate); no lifetimes, timeline, blocks, sizes of what was released
  bool sizes_known = true;
  bool lifetimes_known = true;
  bool blocks_known = true;  // single blocks: where each is, and since when
  bool threads_known = true;
  Known known;
  Totals totals;
  Leaks leaks;
  Ignored ignored = {};  // what is in the totals, and in no list
  std::vector<ErrorEntry> errors;
  bool errors_requested = false;  // --sanity
  uint64_t errors_dropped = 0;    // releases that are counted but not listed: too many different ones
  std::vector<StackEntry> stacks;
  uint64_t stack_count = 0;  // all that the filters let through and no rule ignores, also those that are not listed
  std::vector<LabelEntry> labels;  // of those stacks, by their tags or pools, where that was asked for
  std::vector<StackCount> counts;  // of all stacks, by id - 1; empty unless asked for
  std::vector<SizeClass> size_classes;
  std::vector<ExactSize> top_sizes;    // most allocations first
  uint64_t uncounted_allocations = 0;  // of sizes that are missing in top_sizes: too many different ones
  std::vector<LifetimeClass> lifetimes;
  std::vector<TimelinePoint> timeline;
  uint64_t timeline_start_ns = 0;
  bool grows_to_the_end = false;  // live bytes grew through the whole time, and were still growing
  std::vector<ThreadEntry> threads;
  std::vector<BlockEntry> blocks;  // alive; empty unless asked for
  std::string trace_path;
  std::vector<ProcessEntry> processes;  // all of the recording, this one first; empty where it is the only one
  bool of_run = false;                  // the figures are those of all `processes` together (analysis/merge.h)
  std::string run_path;                 // the index of the recording; empty where there is none
  std::optional<Window> window;         // empty: the whole recording
  std::vector<model::Mark> marks;       // of the recording
  std::string filter;                   // what the report was narrowed down to, in words; empty where it is everything
  std::string sort_key;                 // of the stacks
  std::optional<Holders> holders;
  std::optional<Retained> retained;
  std::optional<Globals> globals;
  std::optional<std::vector<ScanEntry>> scans;
  std::optional<ScanChanges> scan_changes;
  std::optional<Activity> activity;
  std::optional<AddressSpace> address_space;
  std::optional<StackGraph> stack_graph;
  std::vector<StackHolders> stack_holders;                           // of the stacks that matter most
  std::vector<std::pair<uint32_t, std::string>> stack_suppressions;  // of listed leaks: place in `stacks`, and the text
  std::string generated_suppressions;           // for the leaks that are listed, where they were asked for
  std::vector<model::SymbolHint> symbol_hints;  // of modules whose shown frames lack names or lines
  std::optional<UnmatchedFilter> unmatched;     // the filter let nothing through
  std::vector<model::Frame> frames;             // each once; what stacks and the like name by index
  std::vector<ModuleEntry> modules;             // each path once, in order
  SkippedNames skipped = {};                    // functions that the user calls machinery

  [[nodiscard]] FrameList list(const std::vector<FrameIndex>& indices) const { return {frames, indices}; }
  // When the recording ended; of one that was cut off or goes on, as far as it is known.
  [[nodiscard]] uint64_t end_ns() const { return std::max(capture.duration_ns, last_event_ns); }
};

}  // namespace heaptap::report
