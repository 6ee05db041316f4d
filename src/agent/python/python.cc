// Frames of CPython in the stacks of allocations.
//
// The walk of the native stack is as ever: where Python code runs, it meets the evaluation function, once for each time that it was
// called. The thread's own chain of frames says which Python code each of these calls ran. Both lists are followed together, from the
// inside outwards, and in the place of the evaluation function the frames are put that it ran. Where one list ends before the other,
// nothing is put anywhere, and the event is counted: a frame in the wrong place would be worse than none.
//
// A merged stack is an ordinary one. Its Python frames are code entries with the number of a label and a line (wire::make_named_code).
// What is done for each event is one walk over the chain, for a hash of it; with the native stack's number it leads to the number of the
// merged stack. Only a new pair of both is merged, and only a new place in Python code is named: its texts are read here, by the thread
// that is in this code, when nobody can have released them.
#include "agent/core/change_count.h"
#include "agent/core/growing_table.h"
#include "agent/core/interpreter.h"
#include "agent/core/labels.h"
#include "agent/core/session.h"
#include "agent/python/code_parts.h"
#include "agent/python/layout.h"
#include "agent/python/line_table.h"
#include "agent/python/objects.h"
#include "agent/python/versions.h"

namespace heaptap::agent::python {
namespace {

// Hash table from a hash of 64 bits to a number that isn't 0.
class NumberTable {
 public:
  bool start() { return table_.start(1024); }
  [[nodiscard]] MappedPart memory() const { return table_.memory(); }

  // 0: not known.
  [[nodiscard]] uint32_t find(uint64_t key) const {
    const Slot* const slot = table_.find(bucket(key), [key](const Slot& other) { return other.is(key); });
    return slot != nullptr ? slot->number.load(std::memory_order_acquire) : 0;
  }
  void add(uint64_t key, uint32_t number) {
    Slot* const slot = table_.insert(
        key, bucket(key), [key](const Slot& other) { return other.is(key); },
        [] { return [](const Slot& other) { return uint64_t{bucket(other.key.load(std::memory_order_relaxed))}; }; });
    if (slot != nullptr) slot->number.store(number, std::memory_order_release);
  }

 private:
  struct Slot {
    using Value = uint64_t;
    std::atomic<uint64_t> key;     // 0: empty
    std::atomic<uint32_t> number;  // 0: the thread that claimed the slot isn't that far yet
    [[nodiscard]] bool is(uint64_t other) const { return key.load(std::memory_order_relaxed) == other; }
    [[nodiscard]] bool is_empty() const { return is(0); }
    bool claim(uint64_t value) {
      uint64_t empty = 0;
      return key.compare_exchange_strong(empty, value, std::memory_order_acq_rel);
    }
    void copy(const Slot& other) {
      key.store(other.key.load(std::memory_order_relaxed), std::memory_order_relaxed);
      number.store(other.number.load(std::memory_order_acquire), std::memory_order_relaxed);
    }
  };
  static uint32_t bucket(uint64_t key) { return static_cast<uint32_t>(key >> 32); }

  GrowingTable<Slot> table_;
};

constexpr uint64_t mix(uint64_t one, uint64_t other) {
  const auto product = static_cast<unsigned __int128>(one ^ 0x9e3779b97f4a7c15u) * (other ^ 0xd6e8feb86659fd93u);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Evaluation function and types of the process's interpreter. There is one: an interpreter can't be loaded twice, since extension modules
// bind to it by name.
struct Runtime {
  using ThreadStateFunction = uintptr_t (*)();

  std::atomic<uint32_t> is_usable;
  uintptr_t module_start;
  uint32_t version;
  bool has_layout;
  Layout layout;
  ThreadStateFunction thread_state;
  CodeExtent evaluation[2];
  uintptr_t code_type;
  uintptr_t text_type;

  // Whether the code is the evaluation function's, in the object that is loaded there.
  [[nodiscard]] bool evaluates(uint64_t code_entry) const {
    const uint64_t address = wire::code_address(code_entry);
    const uint64_t instruction = (code_entry & wire::kCodeExact) != 0 ? address : address - 1;
    if (!evaluation[0].holds(instruction) && !evaluation[1].holds(instruction)) return false;
    const Module* const module = g_session.unwind.modules.find(instruction);
    return module != nullptr && module->start == module_start &&
           module->generation == wire::code_generation(code_entry);
  }
};

struct State {
  Runtime runtime;
  wire::LogHeader* log;
  NumberTable runs;    // by native stack: whether Python code runs on it (kRuns, kRunsNot)
  NumberTable places;  // by code object and position: index of the code entry, + 1
  NumberTable merged;  // by native stack and chain: the merged stack, or the native one where they can't be merged
  std::atomic<uint32_t> is_merging;
};
constinit State g_python{};

constexpr uint32_t kRunsNot = 1;
constexpr uint32_t kRuns = 2;

constexpr uint32_t kMaxMergedFrames = 16384;
constinit uint32_t g_codes[kMaxMergedFrames];

void tell_version() {
  State& python = g_python;
  const Runtime& runtime = python.runtime;
  const uint32_t unread = runtime.version == 0 ? wire::kNoInterpreter : runtime.has_layout ? 0 : runtime.version;
  python.log->unread_interpreter.store(unread, std::memory_order_relaxed);
}

// A code object that was released may be followed by another one at its address, so that its names are a part of it.
uint64_t identity_of(const Layout& layout, uintptr_t code) {
  if (!may_be_object(code)) return 0;
  const uint64_t names = load<uint64_t>(code + layout.code_file) ^ load<uint64_t>(code + layout.code_name) << 20;
  return mix(names, load<uint32_t>(code + layout.code_first_line)) ^ load<uint64_t>(code + layout.code_lines);
}

uint64_t key_of(const Layout& layout, const Step& step) {
  return mix(mix(step.code, step.position), identity_of(layout, step.code)) | 1;
}

// 0: there is no Python code on it.
uint64_t hash_of_chain(const Layout& layout, uintptr_t thread_state) {
  uint64_t hash = 0;
  Frames frames(layout, thread_state);
  for (Step step = frames.next(); step.kind != Step::Kind::kEnd; step = frames.next()) {
    hash = step.kind == Step::Kind::kFrame ? mix(hash, key_of(layout, step)) : hash * 31 + (hash != 0 ? 1 : 0);
  }
  return hash;
}

// In bytes from the first instruction.
int64_t position_in_code(const Layout& layout, const Step& step) {
  if (layout.bytes_per_index != 0) return int64_t{static_cast<int32_t>(step.position)} * layout.bytes_per_index;
  return static_cast<int64_t>(step.position) - static_cast<int64_t>(step.code + layout.code_instructions);
}

uint32_t line_at(const Layout& layout, const Step& step) {
  const auto first_line = load<uint32_t>(step.code + layout.code_first_line);
  const auto table = load<uintptr_t>(step.code + layout.code_lines);
  if (!may_be_object(table) || (may_call() && !kernel::is_readable(table + kLength))) return first_line;
  const auto bytes = load<uintptr_t>(table + kLength);
  constexpr uintptr_t kMaxTableBytes = uintptr_t{1} << 24;
  const uintptr_t last = table + kBytesData + bytes;
  if (bytes > kMaxTableBytes || (may_call() && !kernel::is_readable(last - last % sizeof(uintptr_t))))
    return first_line;
  return line_of(layout.line_table, reinterpret_cast<const uint8_t*>(table + kBytesData), bytes, first_line,
                 position_in_code(layout, step));
}

// Null: there is no room.
const Label* label_of_file(Text path) {
  char piece[wire::kMaxLabelBytes + 1];
  const Label* label = nullptr;
  do {
    path.copy_next(piece, sizeof(piece));
    label = g_labels.find_or_add(label, wire::LabelKind::kSourceFile, piece);
  } while (label != nullptr && !path.is_empty());
  return label;
}

enum class Naming : uint8_t { kNamed, kNoPlace, kFailed };

// Of a frame that has no code yet in the program's source, as those that the interpreter makes for calls of its own: kNoPlace.
Naming name_place(const Layout& layout, const Step& step, uint32_t& code_index) {
  const Runtime& runtime = g_python.runtime;
  if (!is_object_of(step.code, runtime.code_type)) return Naming::kNoPlace;
  const Text path(layout, load<uintptr_t>(step.code + layout.code_file), runtime.text_type);
  Text name(layout, load<uintptr_t>(step.code + layout.code_name), runtime.text_type);
  if (path.is_empty() || name.is_empty()) return Naming::kNoPlace;
  const Label* const file = label_of_file(path);
  if (file == nullptr) return Naming::kFailed;
  char text[wire::kMaxLabelBytes + 1];
  name.copy_next(text, sizeof(text));
  const Label* const function = g_labels.find_or_add(file, wire::LabelKind::kFunction, text);
  if (function == nullptr) return Naming::kFailed;
  const uint64_t entry = wire::make_named_code(function->number, line_at(layout, step));
  const Rule rule = g_session.unwind.rules.add(entry & (wire::kCodeAddressMask | wire::kCodeExact),
                                               wire::kGenerationMask, unwind::Row(unwind::RowKind::kNoTable));
  if (rule.code() == Rule::kNoCode) return Naming::kFailed;
  code_index = rule.code();
  return Naming::kNamed;
}

Naming find_place(const Layout& layout, const Step& step, uint32_t& code_index) {
  constexpr uint32_t kNowhere = UINT32_MAX;
  const uint64_t key = key_of(layout, step);
  if (const uint32_t known = g_python.places.find(key); known != 0) {
    code_index = known - 1;
    return known == kNowhere ? Naming::kNoPlace : Naming::kNamed;
  }
  const Naming naming = name_place(layout, step, code_index);
  if (naming != Naming::kFailed) g_python.places.add(key, naming == Naming::kNoPlace ? kNowhere : code_index + 1);
  return naming;
}

// The codes of a merged stack, from the inside outwards.
struct Codes {
  uint32_t* room;
  uint32_t count = 0;
  bool add(uint32_t code) {
    if (count == kMaxMergedFrames) return false;
    room[count++] = code;
    return true;
  }
};

// The frames that one call of the evaluation function ran.
bool add_frames_of_call(const Layout& layout, Frames& frames, Codes& codes) {
  for (Step step = frames.next(); step.kind != Step::Kind::kEntry; step = frames.next()) {
    uint32_t code = 0;
    if (step.kind == Step::Kind::kEnd) return false;
    const Naming naming = find_place(layout, step, code);
    if (naming == Naming::kFailed || (naming == Naming::kNamed && !codes.add(code))) return false;
  }
  return true;
}

// The native stack's own number where they can't be merged.
uint32_t merge_into(uint32_t* room, uint32_t native, uintptr_t thread_state) {
  const Runtime& runtime = g_python.runtime;
  UnwindTables& tables = g_session.unwind;
  Frames frames(runtime.layout, thread_state);
  Codes codes{room};
  uint32_t node = native;
  for (; node >= wire::kRootCount; node = wire::node_parent(tables.trie.node(node))) {
    const uint32_t code = wire::node_code(tables.trie.node(node));
    const bool is_call = runtime.evaluates(tables.rules.code_at(code));
    if (!(is_call ? add_frames_of_call(runtime.layout, frames, codes) : codes.add(code))) return native;
  }
  const auto end = static_cast<wire::StackEnd>(node);
  if (end == wire::StackEnd::kComplete && frames.next().kind != Step::Kind::kEnd) return native;
  StackName name = root_name(end);
  for (uint32_t i = codes.count; i > 0; --i) name = tables.add(name, codes.room[i - 1]);
  return name.node;
}

uint32_t merge_new(uint32_t native, uintptr_t thread_state) {
  constexpr size_t kRoomBytes = sizeof(g_codes);
  std::atomic<uint32_t>& busy = g_python.is_merging;
  if (busy.exchange(1, std::memory_order_acquire) == 0) {
    const uint32_t merged = merge_into(g_codes, native, thread_state);
    busy.store(0, std::memory_order_release);
    return merged;
  }
  auto* const room = static_cast<uint32_t*>(kernel::map_memory(kRoomBytes));
  if (room == nullptr) return native;
  const uint32_t merged = merge_into(room, native, thread_state);
  kernel::unmap(room, kRoomBytes);
  return merged;
}

bool start(wire::LogHeader& log) {
  State& python = g_python;
  python.log = &log;
  python.is_merging.store(0, std::memory_order_relaxed);
  if (!python.runs.start() || !python.places.start() || !python.merged.start()) return false;
  tell_version();
  return true;
}

void leave(Leftovers& leftovers) {
  leftovers.add(g_python.runs.memory());
  leftovers.add(g_python.places.memory());
  leftovers.add(g_python.merged.memory());
}

// The loader lists objects while its lock is held: one thread at a time is here.
bool look_at(const ModuleFacts& module, const ExportedSymbols& symbols) {
  Runtime& runtime = g_python.runtime;
  if (runtime.version != 0) return runtime.module_start == module.start;
  uintptr_t bytes = 0;
  const auto find = [&](const char* name) {
    return reinterpret_cast<uintptr_t>(symbols.find(symbols.object, name, bytes));
  };
  const uintptr_t evaluation = find("_PyEval_EvalFrameDefault");
  if (evaluation == 0 || !kernel::is_readable(evaluation)) return false;
  runtime.evaluation[0] = {evaluation, bytes};
  const unwind::CfiTables tables{module.tables_start, module.tables_end,
                                 reinterpret_cast<const uint8_t*>(module.tables_start), module.unwind_header};
  runtime.evaluation[1] = find_second_part(runtime.evaluation[0], tables);
  runtime.thread_state = reinterpret_cast<Runtime::ThreadStateFunction>(find("PyGILState_GetThisThreadState"));
  runtime.code_type = find("PyCode_Type");
  runtime.text_type = find("PyUnicode_Type");
  const Version version = find_version(find);
  runtime.module_start = module.start;
  runtime.version = version.number;
  runtime.has_layout = version.has_layout && has_usual_heads(find("PyBaseObject_Type")) &&
                       runtime.thread_state != nullptr && runtime.code_type != 0 && runtime.text_type != 0 &&
                       runtime.evaluation[0].bytes != 0;
  runtime.layout = version.layout;
  tell_version();
  runtime.is_usable.store(runtime.has_layout ? 1 : 0, std::memory_order_release);
  return true;
}

bool look_whether_runs(uint32_t native) {
  const UnwindTables& tables = g_session.unwind;
  for (uint32_t node = native; node >= wire::kRootCount; node = wire::node_parent(tables.trie.node(node))) {
    if (g_python.runtime.evaluates(tables.rules.code_at(wire::node_code(tables.trie.node(node))))) return true;
  }
  return false;
}

// Whether the interpreter runs a program on this stack. Only then it is initialized for certain, and may be called: the loader, for one,
// allocates when it has mapped an object and not relocated it.
bool runs_program(uint32_t native) {
  NumberTable& runs = g_python.runs;
  const uint64_t key = mix(native, 1) | 1;
  uint32_t known = runs.find(key);
  if (known == 0) {
    known = look_whether_runs(native) ? kRuns : kRunsNot;
    runs.add(key, known);
  }
  return known == kRuns;
}

uint32_t merge(uint32_t native) {
  State& python = g_python;
  if (python.runtime.is_usable.load(std::memory_order_acquire) == 0 || !runs_program(native)) return native;
  const uintptr_t thread_state = python.runtime.thread_state();
  if (!may_be_object(thread_state)) return native;
  const uint64_t chain = hash_of_chain(python.runtime.layout, thread_state);
  if (chain == 0) return native;
  const uint64_t key = mix(chain, native) | 1;
  uint32_t merged = python.merged.find(key);
  if (merged == 0) {
    merged = merge_new(native, thread_state);
    python.merged.add(key, merged);
  }
  if (merged == native) python.log->unplaced_frames.fetch_add(1, std::memory_order_relaxed);
  return merged;
}

}  // namespace
}  // namespace heaptap::agent::python

namespace heaptap::agent {

extern "C" constinit const Interpreter heaptap_python{
    .start = python::start, .leave = python::leave, .look_at = python::look_at, .merge = python::merge};

}  // namespace heaptap::agent
