// Request for a report, in the words of the command line. Never changed by the analysis.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/leaks/classify.h"
#include "analysis/query/ignores.h"
#include "analysis/query/sort_key.h"
#include "analysis/query/suppression_writer.h"
#include "analysis/query/suppressions.h"
#include "analysis/query/window.h"
#include "analysis/symbols/resolver.h"
#include "common/base/result.h"

namespace heaptap::query {

// Selector of a block: by an address in it, by its number, or the largest one of a stack.
struct BlockQuestion {
  enum class By : uint8_t { kAddress, kNumber, kStack };
  By by = By::kAddress;
  uint64_t value = 0;
};
// "0x7f001234", "#b12" or "b12", "#12" or "12".
base::Result<BlockQuestion> parse_block_question(std::string_view text);

// Grouping of the stacks for additional sums.
enum class GroupBy : uint8_t { kNothing, kTag, kPool };

enum class RetainedBy : uint8_t { kBlock, kStack, kType };

// Moment of the requested fragmentation: the scan's, or the window's end, if it has one.
enum class FragmentationAt : uint8_t { kNowhere, kScan, kWindow };

// Allocations that count.
struct Filter {
  std::string function = {};           // part of, or a regular expression for, any frame's function name; empty: all
  std::string module = {};             // the same for the module path of any frame
  std::vector<std::string> skip = {};  // functions that don't name a site, as `function`
  std::vector<std::string> tags = {};  // all must match one of the allocation's tags, each as `function`
  uint32_t thread = 0;                 // 0: all
  Ignores ignores = {};                // stacks that are in the totals and in no list
};

// Frames shown of a deeper stack by default.
constexpr uint32_t kMaxListedFrames = 255;

// Frames that a listed stack has.
struct FrameChoice {
  uint32_t depth = 0;        // number of them; 0: all, up to kMaxListedFrames
  bool interpreter = false;  // with the interpreter's frames that interpreted ones called

  [[nodiscard]] uint32_t count() const { return depth != 0 ? depth : kMaxListedFrames; }
};

// Lists of stacks and blocks.
struct Listing {
  std::optional<SortKey> sort = SortKey::kUsage;  // empty: by the report's focus
  size_t limit = 0;                               // stacks and blocks; 0: all
  FrameChoice frames = {};
  bool stacks = true;                    // list stacks at all
  std::vector<uint64_t> stack_ids = {};  // list these, in this order, and no others; empty: as `sort` and `limit` say
  GroupBy group = GroupBy::kNothing;     // sums by tags or pools
  bool counts = false;                   // counts of all stacks, without names
  bool blocks = false;                   // list live blocks
  bool errors = false;                   // list bad releases, with their stacks
  bool leaks_only = false;               // only stacks with leaks; without a scan, those with live blocks
  bool mapped_peak = false;              // also list stacks by memory mapped at its peak, up to `limit`
  bool leaks_else_reachable =
      false;  // list leaks, and reachable blocks and globals where leaks explain little or are none
};

// Figures counted from the events beside the totals; each costs time.
struct Counting {
  bool statistics = true;       // sizes, lifetimes, timeline and threads
  bool lifetimes = true;        // of each stack's blocks
  bool events = true;           // false: use only the scan's data, not the calls; needs a scan
  bool activity = false;        // counts by time and stack
  bool from_all_sides = false;  // activity, address space and pointer graph, for an interactive report
};

// Leaks, if the trace has a scan of the target's memory.
struct LeakQuestion {
  bool scans = true;  // use scans; faster without, but leaks are unknown
  uint32_t scan = 0;  // number of the scan; 0: the last one
  leaks::LeakOptions options = {};
  Suppressions suppressions = {};
  bool carried_suppressions = true;                // apply the trace's own suppressions too
  std::optional<SuppressionSyntax> generate = {};  // write suppressions for the listed leaks
  std::optional<BlockQuestion> why = {};           // find the holders of this block
  std::optional<RetainedBy> retained = {};         // retained sizes by this grouping
  bool globals = false;                            // memory held by global variables alone
  bool holder = false;                             // the same, where leaks explain little of what is left
  bool scan_list = false;                          // results of each scan
  FragmentationAt fragmentation = FragmentationAt::kNowhere;
  uint32_t since = 0;  // list blocks lost in `scan` but not in this one; 0: no comparison
};

struct Query {
  Filter filter = {};
  Window window = {};
  Listing listing = {};
  Counting counting = {};
  LeakQuestion leaks = {};
  symbols::ResolverOptions symbols = {};
  std::function<void(uint64_t done, uint64_t total)> progress = {};
};

}  // namespace heaptap::query
