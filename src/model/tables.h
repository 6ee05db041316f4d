// The tables that events refer to by number: sites, stacks, code addresses, modules, threads.
// They grow while a trace is read; entries never change. Everything in them was bounds-checked by who made them.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/event.h"
#include "model/frame.h"
#include "wire/functions.h"
#include "wire/labels.h"
#include "wire/log.h"

namespace heaptap::model {

struct Site {
  EventKind kind;
  wire::Function function;
  StackId stack;
  LabelId label = 0;  // what the program calls what it allocated: wire/labels.h
};

// A name of the program's: a tag, with those around it, or a pool's or a kind of resource's.
struct Label {
  LabelId parent = 0;
  wire::LabelKind kind = wire::LabelKind::kNone;
  std::string name;
};

// One node of the trie of stacks: `code` is the innermost frame, `parent` the stack of its caller. Stacks 0 to
// wire::kRootCount - 1 are the empty ones: their number is the wire::StackEnd, why there is no further frame.
struct Stack {
  StackId parent;
  CodeId code;
};

struct Code {
  uint64_t address;
  uint32_t generation;  // which of the modules that were at this address in turn
  bool exact;           // the instruction itself was interrupted; otherwise a return address (the call is before it)
};

struct Module {
  std::string path;      // as the program's loader had it
  std::string build_id;  // bytes, not hex
  uint64_t bias = 0;     // address in the process minus address in the ELF file
  uint64_t start = 0;    // mapped range [start, end)
  uint64_t end = 0;
  uint32_t generation = 0;
  uint8_t flags = 0;      // wire::ModuleFlag
  std::string file = {};  // where links in the path led on the target's machine; empty: nowhere else, or not known
};

struct Thread {
  ThreadId number = 0;
  uint32_t kernel_id = 0;
  std::string name;  // empty where it was not seen
};

// Names that a source brings with it: those stand for its codes, and no symbols are asked of these.
class CodeNames {
 public:
  CodeNames() = default;
  CodeNames(const CodeNames&) = delete;
  CodeNames& operator=(const CodeNames&) = delete;
  virtual ~CodeNames() = default;
  // Of one entry of Tables::codes: innermost first; none: symbols tell it.
  [[nodiscard]] virtual std::vector<Frame> frames_of(CodeId code) const = 0;
};

// The module that holds this code, if one does. The last one that was loaded wins.
[[nodiscard]] const Module* find_module(std::span<const Module> modules, const Code& code);

struct Tables {
  std::vector<Site> sites;
  std::vector<Stack> stacks;
  std::vector<Code> codes;
  std::vector<Module> modules;
  std::vector<Thread> threads;
  std::vector<Label> labels;               // the first one is none
  std::shared_ptr<const CodeNames> names;  // null: symbols tell them

  [[nodiscard]] const Module* module_of(const Code& code) const { return find_module(modules, code); }
};

}  // namespace heaptap::model
