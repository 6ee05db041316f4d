// Tables that events refer to by number: sites, stacks, code addresses, modules, threads. They grow while a trace is
// read; entries never change. All contents are bounds-checked by their maker.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/model/event.h"
#include "common/model/frame.h"
#include "common/wire/functions.h"
#include "common/wire/labels.h"
#include "common/wire/log.h"

namespace heaptap::model {

struct Site {
  EventKind kind;
  wire::Function function;
  StackId stack;
  LabelId label = 0;  // the program's label of the allocation: common/wire/labels.h
};

// Label given by the program: a nested tag, or the name of a pool or of a kind of resource.
struct Label {
  LabelId parent = 0;
  wire::LabelKind kind = wire::LabelKind::kNone;
  std::string name;
};

// Node of the trie of stacks: `code` is the innermost frame, `parent` the stack of its caller. Stacks 0 to
// wire::kRootCount - 1 are the empty ones: their number is the wire::StackEnd, the reason for the end.
struct Stack {
  StackId parent;
  CodeId code;
};

struct Code {
  uint64_t address;     // unless it is_named()
  uint32_t generation;  // which of the modules mapped at this address in turn
  bool exact;           // an interrupted instruction; otherwise a return address (the call is before it)
};

struct Module {
  std::string path;      // as known to the program's loader
  std::string build_id;  // bytes, not hex
  uint64_t bias = 0;     // address in the process minus address in the ELF file
  uint64_t start = 0;    // mapped range [start, end)
  uint64_t end = 0;
  uint32_t generation = 0;
  uint8_t flags = 0;      // wire::ModuleFlag
  std::string file = {};  // target of the path's symbolic links on the target's machine; empty: the same, or unknown
};

struct Thread {
  ThreadId number = 0;
  uint32_t kernel_id = 0;
  std::string name;  // empty: unknown
};

// Names supplied by the source: they replace symbols for its codes.
class CodeNames {
 public:
  CodeNames() = default;
  CodeNames(const CodeNames&) = delete;
  CodeNames& operator=(const CodeNames&) = delete;
  virtual ~CodeNames() = default;
  // Frames of an entry of Tables::codes, innermost first; none: use symbols.
  [[nodiscard]] virtual std::vector<Frame> frames_of(CodeId code) const = 0;
};

// Code and entry of a log (wire::CodeEntry).
[[nodiscard]] constexpr uint64_t entry_of(const Code& code) {
  return wire::with_generation(wire::code_address(code.address) | (code.exact ? wire::kCodeExact : 0), code.generation);
}
[[nodiscard]] constexpr Code code_of(uint64_t entry) {
  return {wire::code_address(entry), wire::code_generation(entry), (entry & wire::kCodeExact) != 0};
}

// Whether the code is a place in an interpreted program (wire::make_named_code): its address is no address.
[[nodiscard]] constexpr bool is_named(const Code& code) { return wire::is_named_code(entry_of(code)); }

// The module that contains this code, or null. The last one loaded wins.
[[nodiscard]] const Module* find_module(std::span<const Module> modules, const Code& code);

struct Tables {
  std::vector<Site> sites;
  std::vector<Stack> stacks;
  std::vector<Code> codes;
  std::vector<Module> modules;
  std::vector<Thread> threads;
  std::vector<Label> labels;               // the first one stands for no label
  std::shared_ptr<const CodeNames> names;  // null: names come from symbols

  [[nodiscard]] const Module* module_of(const Code& code) const { return find_module(modules, code); }
  // Of a code that is_named().
  [[nodiscard]] Frame named_frame(const Code& code) const;
};

}  // namespace heaptap::model
