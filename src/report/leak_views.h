// What a report says of single blocks and of who holds them: the parts behind `show leaks` with --why, --retained, --globals,
// --scans and --since. Empty where they weren't asked for.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/frame.h"
#include "report/frame_list.h"
#include "report/leak_counts.h"

namespace heaptap::report {

struct NamedBlock {
  uint64_t number = 0;
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  std::string state;  // "reachable", "possible", "indirect", "definite"
  bool suppressed = false;
  std::string type;  // of C++ objects with virtual functions, and of what containers of std:: allocate; else empty
  uint64_t stack_id = 0;
  std::string function;  // that allocated it
  model::Frame caller;   // the telling frame of its stack
  std::string name;      // that the program gave it
};

struct NamedRoot {
  std::string kind;  // as wire::kRootKindNames has it
  std::string name;  // of the variable or the register; empty where it isn't known
  std::string file;  // where the variable is defined
  uint32_t line = 0;
  std::string module;   // of the variable: path
  uint64_t offset = 0;  // in the variable; in the module (or its thread-local segment) where no variable is known
  uint32_t thread = 0;
  std::string thread_name;
  uint64_t address = 0;               // of the pointer; not of a register
  std::optional<model::Frame> frame;  // of a stack
};

struct HolderStep {
  NamedBlock block;
  uint64_t offset = 0;  // in this block, of the pointer that leads on
  std::string pointer;  // its kind: "start", "interior", "array-cookie", …
};

// From a root, or from the leader of a group of lost blocks, to a block, which is not in it.
struct HolderChain {
  std::optional<NamedRoot> root;
  std::string pointer;  // kind of the root's
  std::vector<HolderStep> steps;
  uint64_t left_out = 0;  // steps that are missing behind half of those that are there
};

struct Holders {
  std::string asked;
  NamedBlock block;
  uint64_t offset = 0;  // in the block, of the address that was asked for
  // Of a stack: its blocks in the scan; those of the worst kind, of which `block` is the largest (definitely lost ones, or else
  // indirectly, or possibly lost ones …); and those that are held from the same place.
  BlockCount of_stack;
  BlockCount of_kind;
  BlockCount same_root;
  std::optional<HolderChain> held;
  std::optional<HolderChain> below;    // of a lost block that isn't a leader itself: the way from its leader
  std::optional<HolderChain> cycle;    // of a leader: from it back to itself
  uint32_t earlier_scan = 0;           // the last one in which a block that is lost now was held; 0: none
  std::optional<HolderChain> earlier;  // who held it then
};

struct RetainedEntry {
  std::optional<NamedBlock> block;  // one of: a block,
  uint64_t stack_id = 0;            // a stack with `function` and `caller`,
  std::string function;
  model::Frame caller;
  std::string type;     // or a type
  BlockCount own;       // that are held
  BlockCount retained;  // own ones included
};

struct Retained {
  std::string by;  // "block", "stack", "type"
  std::vector<RetainedEntry> entries;
  uint64_t entry_count = 0;  // also those that aren't listed
  BlockCount held;           // all blocks that roots lead to
};

struct GlobalEntry {
  NamedRoot variable;
  BlockCount direct;    // that it points to
  BlockCount retained;  // that nothing else holds
};

// `held` is the sum of what the entries retain, `unlisted` and `shared`.
struct Globals {
  std::vector<GlobalEntry> entries;
  uint64_t entry_count = 0;
  BlockCount held;       // by global variables alone
  BlockCount unlisted;   // of these: what the variables that are no entries here retain
  BlockCount shared;     // by several variables together
  BlockCount elsewhere;  // that global variables lead to as well, but roots of other kinds, too
};

struct ScanEntry {
  ScanFacts facts;
  BlockCount definite, indirect, possible, reachable, suppressed, ignored;
};

// Lost blocks, definitely or indirectly.
struct LossChange {
  BlockCount allocated;  // since the earlier scan, and lost
  BlockCount older;      // there in the earlier scan, and lost since
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
