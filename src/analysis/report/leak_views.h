// Leak views of single blocks and their holders, for `show leaks` with --why, --retained, --globals, --scans and --since. Empty
// unless asked for.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/frame_list.h"
#include "analysis/report/leak_counts.h"
#include "analysis/report/named_root.h"
#include "common/model/frame.h"

namespace heaptap::report {

struct NamedBlock {
  uint64_t number = 0;
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  std::string state;  // "reachable", "possible", "indirect", "definite"
  bool suppressed = false;
  std::string type;  // of C++ objects with virtual functions, and of allocations by std:: containers; else empty
  uint64_t stack_id = 0;
  std::string function;  // the allocation function
  model::Frame caller;   // telling frame of its stack
  std::string name;      // given by the program
};

struct HolderStep {
  NamedBlock block;
  uint64_t offset = 0;  // of the pointer to the next step, in this block
  std::string pointer;  // its kind: "start", "interior", "array-cookie", …
};

// Path to a block, exclusive: from a root, or from the leader of a group of lost blocks.
struct HolderChain {
  std::optional<NamedRoot> root;
  std::string pointer;  // kind of the root's pointer
  std::vector<HolderStep> steps;
  uint64_t left_out = 0;  // steps omitted in the middle
};

// Possibly lost blocks of a stack that has lost ones as well.
struct PossiblyLost {
  NamedBlock block;  // the largest
  BlockCount count;
  HolderChain held;  // path to `block`
};

struct Holders {
  std::string asked;
  NamedBlock block;
  uint64_t offset = 0;  // of the requested address, in the block
  // Of a stack: its blocks in the scan; those of the worst state, of which `block` is the largest (definitely lost ones, or else
  // indirectly, or possibly lost ones …); and those held by the same root.
  BlockCount of_stack;
  BlockCount of_kind;
  BlockCount same_root;
  std::optional<PossiblyLost> possible;  // of a stack whose worst blocks are definitely or indirectly lost
  std::optional<HolderChain> held;
  std::optional<HolderChain> below;    // path from its leader, for a lost block other than a leader
  std::optional<HolderChain> cycle;    // path from a leader back to itself
  uint32_t earlier_scan = 0;           // last scan in which a block lost now was held; 0: none
  bool is_earlier_exit_start = false;  // it was made where exit began
  std::optional<HolderChain> earlier;  // path to the block then
};

struct RetainedEntry {
  std::optional<NamedBlock> block;  // either a block,
  uint64_t stack_id = 0;            // a stack with `function` and `caller`,
  std::string function;
  model::Frame caller;
  std::string type;     // or a type
  BlockCount own;       // reachable ones of the group
  BlockCount retained;  // `own` included
};

struct Retained {
  std::string by;  // "block", "stack", "type"
  std::vector<RetainedEntry> entries;
  uint64_t entry_count = 0;  // including those not listed
  BlockCount held;           // all reachable blocks
};

struct GlobalEntry {
  NamedRoot variable;
  BlockCount direct;                   // directly pointed to
  BlockCount retained;                 // reachable from no other variable
  BlockCount also;                     // of these, reachable from roots of other kinds, too
  std::vector<std::string> also_from;  // those kinds, of wire::kRootKindNames
  bool of_libraries = false;           // all that is retained is what libraries keep for themselves
};

// Reachable memory by its owner: variables before thread-local storage, before mappings, before stacks and registers.
// `held` is the sum of what the entries retain, `unlisted` and `shared`; `reachable` that of `held`, `thread_locals`, `mappings`
// and `stacks`.
struct Globals {
  std::vector<GlobalEntry> entries;
  uint64_t entry_count = 0;
  BlockCount reachable;
  BlockCount held;                   // reachable from global variables
  BlockCount unlisted;               // of `held`: retained by variables without an entry here
  BlockCount shared;                 // of `held`: by several variables together
  BlockCount elsewhere;              // of `held`: reachable from roots of other kinds, too
  std::vector<NamedRoot> shared_by;  // some of the variables of `shared`, the one that leads to most of it first
  BlockCount thread_locals;          // others
  BlockCount mappings;               // others: of the program or kept by the kernel
  BlockCount stacks;                 // others, of stacks and registers alone

  // The variable that retains most of the program's memory; null: none.
  [[nodiscard]] const GlobalEntry* largest() const {
    for (const GlobalEntry& entry : entries) {
      if (!entry.of_libraries) return &entry;
    }
    return nullptr;
  }
};

struct ScanEntry {
  ScanFacts facts;
  BlockCount definite, indirect, possible, reachable, suppressed, ignored;
};

// Change of lost blocks (definitely or indirectly) between two scans.
struct LossChange {
  BlockCount allocated;  // since the earlier scan, and lost
  BlockCount older;      // present in the earlier scan, lost since
  BlockCount remained, gone;
  [[nodiscard]] BlockCount appeared() const { return BlockCount(allocated) += older; }
};

struct ChangedStack {
  uint64_t id = 0;
  std::string function;
  std::string variant;
  LossChange change;
  std::vector<FrameIndex> frames;
};

struct ScanChanges {
  ScanFacts from, to;
  LossChange total;
  std::vector<ChangedStack> stacks;
  uint64_t stack_count = 0;
};

}  // namespace heaptap::report
