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
#include "agent/core/growing_table.h"
#include "agent/core/interpreter.h"
#include "agent/core/labels.h"
#include "agent/core/session.h"
#include "agent/python/code_parts.h"
#include "agent/python/layout.h"
#include "agent/python/line_table.h"
#include "agent/python/objects.h"
#include "agent/python/versions.h"
#include "common/unwind/step.h"

namespace heaptap::agent::python {
namespace {

using wire::UnplacedReason;

// Hash table from a hash of 64 bits to a number that isn't 0.
class NumberTable {
 public:
  bool start() { return table_.start(1024); }
  [[nodiscard]] MappedPart memory() const { return table_.memory(); }

  // 0: not known.
  [[nodiscard]] uint32_t find(uint64_t key) const {
    const Slot* const slot = table_.find(bucket(key), [key](const Slot& other) { return other.is(key); });
    return slot != nullptr ? slot->read() : 0;
  }
  // What is beyond isn't kept: the memory is the program's.
  [[nodiscard]] bool is_full() const { return table_.count() >= kMaxEntries; }
  void add(uint64_t key, uint32_t number) {
    if (is_full()) return;
    Slot* const slot = table_.insert(
        key, bucket(key), [key](const Slot& other) { return other.is(key); },
        [] { return [](const Slot& other) { return uint64_t{bucket(other.key.load(std::memory_order_relaxed))}; }; });
    if (slot != nullptr) slot->word.store(number, std::memory_order_release);
  }

 private:
  using Slot = KeySlot<uint32_t>;
  static uint32_t bucket(uint64_t key) { return static_cast<uint32_t>(key >> 32); }

  static constexpr uint32_t kMaxEntries = 1u << 18;  // 8 MiB with its free slots
  GrowingTable<Slot> table_;
};

constexpr uint64_t mix(uint64_t one, uint64_t other) {
  const auto product = static_cast<unsigned __int128>(one ^ 0x9e3779b97f4a7c15u) * (other ^ 0xd6e8feb86659fd93u);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// A loaded interpreter. Extension modules bind to one by its symbols' names, so that a process has one at a time; an unloaded one may be
// followed by another.
struct Runtime {
  using StateFunction = uintptr_t (*)();

  uintptr_t module_start;
  uint32_t generation;
  Version version;
  StateFunction own_state;      // of the calling thread, null: none
  StateFunction current_state;  // that which holds the lock; its own one, or none, from 3.12 on
  CodeExtent evaluation[2];

  [[nodiscard]] bool is_usable() const {
    return version.has_layout && own_state != nullptr && current_state != nullptr && evaluation[0].bytes != 0;
  }
  // Whether it is still what the loader has there.
  [[nodiscard]] bool is_loaded() const {
    const Module* const module = g_session.unwind.modules.find(module_start);
    return module != nullptr && module->start == module_start && module->generation == generation;
  }
  // Whether the code is the evaluation function's.
  [[nodiscard]] bool evaluates(uint64_t code_entry) const {
    const uint64_t instruction = unwind::instruction_of(code_entry);
    const bool is_there = evaluation[0].holds(instruction) || evaluation[1].holds(instruction);
    return is_there && wire::code_generation(code_entry) == generation && is_loaded();
  }
};

struct State {
  static constexpr uint32_t kMaxRuntimes = 8;  // in turn: others may still read the one before
  Runtime runtimes[kMaxRuntimes];
  uint32_t runtime_count;
  std::atomic<const Runtime*> runtime;  // null: none is loaded
  BuiltinType code_type;
  BuiltinType text_type;
  wire::LogHeader* log;
  NumberTable runs;    // by native stack: whether Python code runs on it (kRuns …)
  NumberTable places;  // by code object and position: index of the code entry, + 1
  NumberTable merged;  // by native stack and chain: the merged stack, or why they can't be merged
  std::atomic<uint32_t> is_merging;
};
constinit State g_python{};

constexpr uint32_t kRunsNot = 1;
constexpr uint32_t kRuns = 2;
constexpr uint32_t kIsInterrupted = 3;  // a signal handler runs, possibly between two steps of the interpreter

// In place of a merged stack's number, which is never a root's, and never 0.
constexpr uint32_t unmerged(UnplacedReason reason) { return static_cast<uint32_t>(reason) + 1; }
constexpr bool is_merged(uint32_t node) { return node >= wire::kRootCount; }
static_assert(wire::kUnplacedReasonCount < wire::kRootCount);

constexpr uint32_t kMaxMergedFrames = 16384;
constinit uint32_t g_codes[kMaxMergedFrames];

void tell_version() {
  const State& python = g_python;
  if (python.log == nullptr) return;
  const Runtime* const runtime = python.runtime.load(std::memory_order_relaxed);
  const uint32_t unread = runtime == nullptr     ? wire::kNoInterpreter
                          : runtime->is_usable() ? 0
                                                 : runtime->version.number;
  python.log->unread_interpreter.store(unread, std::memory_order_relaxed);
}

// What tells a text from another one at the same address: its length, its hash where that is known, its first and its last bytes.
uint64_t identity_of_text(const Layout& layout, uintptr_t text) {
  if (!may_be_object(text)) return 0;
  constexpr uintptr_t kHash = 24;
  const auto length = load<uint64_t>(text + kLength);
  const uintptr_t data = text + layout.text_ascii;  // of others: a part of their heads
  const uint64_t last = length >= sizeof(uint64_t) && Text::is_ascii(text) ? load<uint64_t>(data + length - 8) : 0;
  return mix(mix(load<uint64_t>(text + kHash), length), mix(load<uint64_t>(data), last)) ^ text;
}

// A code object that was released may be followed by another one at its address, with other names. One without references is being
// released, and its names may be gone.
uint64_t identity_of(const Layout& layout, uintptr_t code) {
  if (!may_be_object(code) || load<uint32_t>(code) == 0) return 0;
  const uint64_t file = identity_of_text(layout, load<uintptr_t>(code + layout.code_file));
  const uint64_t name = identity_of_text(layout, load<uintptr_t>(code + layout.code_name));
  return mix(file, name) ^ mix(load<uint64_t>(code + layout.code_lines), load<uint32_t>(code + layout.code_first_line));
}

uint64_t key_of(const Layout& layout, const Step& step) {
  return mix(mix(step.code, step.position), identity_of(layout, step.code)) | 1;
}

// 0: there are no frames, or too many.
uint64_t hash_of_chain(const Layout& layout, uintptr_t thread_state, bool& is_cut) {
  uint64_t hash = 0;
  Frames frames(layout, thread_state);
  for (Step step = frames.next(); step.kind != Step::Kind::kEnd; step = frames.next()) {
    hash = step.kind == Step::Kind::kFrame ? mix(hash, key_of(layout, step)) : hash * 31 + (hash != 0 ? 1 : 0);
  }
  is_cut = frames.is_cut();
  return is_cut ? 0 : hash;
}

// In bytes from the first instruction.
int64_t position_in_code(const Layout& layout, const Step& step) {
  if (layout.bytes_per_index != 0) return int64_t{static_cast<int32_t>(step.position)} * layout.bytes_per_index;
  return static_cast<int64_t>(step.position) - static_cast<int64_t>(step.code + layout.code_instructions);
}

uint32_t line_at(const Layout& layout, const Step& step) {
  const auto first_line = load<uint32_t>(step.code + layout.code_first_line);
  const auto table = load<uintptr_t>(step.code + layout.code_lines);
  if (!may_be_object(table) || !may_read(table + kLength)) return first_line;
  const auto bytes = load<uintptr_t>(table + kLength);
  constexpr uintptr_t kMaxTableBytes = uintptr_t{1} << 24;
  if (bytes > kMaxTableBytes || !may_read(table + kBytesData + bytes)) return first_line;
  return line_of(layout.line_table, reinterpret_cast<const uint8_t*>(table + kBytesData), bytes, first_line,
                 position_in_code(layout, step));
}

// Null: there is no room.
const Label* label_of_file(Text path) {
  char piece[wire::kMaxLabelBytes + 1];
  const Label* label = nullptr;
  do {
    if (path.is_empty()) {
      append(piece, "?");
    } else {
      path.copy_next(piece, sizeof(piece));
    }
    label = g_labels.find_or_add(label, wire::LabelKind::kSourceFile, piece);
  } while (label != nullptr && !path.is_empty());
  return label;
}

// Longer ones end in an ellipsis.
void copy_name(Text name, char (&to)[wire::kMaxLabelBytes + 1]) {
  constexpr size_t kEllipsisBytes = 3;
  name.copy_next(to, sizeof(to) - kEllipsisBytes);
  if (to[0] == '\0') append(to, "?");
  if (!name.is_empty()) append(to + length_of(to), "\u2026");
}

enum class Naming : uint8_t { kNamed, kNoPlace, kFailed };

// kNoPlace: of a frame that the interpreter makes for a call of its own, without a file.
Naming name_place(const Layout& layout, const Step& step, uint32_t& code_index) {
  State& python = g_python;
  if (!python.code_type.has(step.code, "code") || load<uint32_t>(step.code) == 0) return Naming::kFailed;
  const auto file_text = load<uintptr_t>(step.code + layout.code_file);
  if (file_text == 0) return Naming::kNoPlace;
  const Text path(layout, file_text, python.text_type);
  const Text name(layout, load<uintptr_t>(step.code + layout.code_name), python.text_type);
  if (!path.is_there() || !name.is_there()) return Naming::kFailed;
  const Label* const file = label_of_file(path);
  if (file == nullptr) return Naming::kFailed;
  char text[wire::kMaxLabelBytes + 1];
  copy_name(name, text);
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
  if (g_python.places.is_full()) return Naming::kFailed;
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

// The frames that one call of the evaluation function ran. 0: all are added, else why not (unmerged()).
uint32_t add_frames_of_call(const Layout& layout, Frames& frames, Codes& codes) {
  for (Step step = frames.next(); step.kind != Step::Kind::kEntry; step = frames.next()) {
    uint32_t code = 0;
    if (step.kind == Step::Kind::kEnd) return unmerged(UnplacedReason::kNotMatching);
    const Naming naming = find_place(layout, step, code);
    if (naming == Naming::kFailed) return unmerged(UnplacedReason::kNotNamed);
    if (naming == Naming::kNamed && !codes.add(code)) return unmerged(UnplacedReason::kTooDeep);
  }
  return 0;
}

uint32_t add_native(Codes& codes, uint32_t code) { return codes.add(code) ? 0 : unmerged(UnplacedReason::kTooDeep); }

// The merged stack, or why there is none.
uint32_t merge_into(uint32_t* room, const Runtime& runtime, uint32_t native, uintptr_t thread_state) {
  const Layout& layout = runtime.version.layout;
  UnwindTables& tables = g_session.unwind;
  Frames frames(layout, thread_state);
  Codes codes{room};
  uint32_t node = native;
  for (; node >= wire::kRootCount; node = wire::node_parent(tables.trie.node(node))) {
    const uint32_t code = wire::node_code(tables.trie.node(node));
    const bool is_call = runtime.evaluates(tables.rules.code_at(code));
    const uint32_t failure = is_call ? add_frames_of_call(layout, frames, codes) : add_native(codes, code);
    if (failure != 0) return failure;
  }
  const auto end = static_cast<wire::StackEnd>(node);
  if (end == wire::StackEnd::kComplete && frames.next().kind != Step::Kind::kEnd)
    return unmerged(UnplacedReason::kNotMatching);
  StackName name = root_name(end);
  for (uint32_t i = codes.count; i > 0; --i) name = tables.add(name, codes.room[i - 1]);
  return is_merged(name.node) ? name.node : unmerged(UnplacedReason::kNotNamed);
}

uint32_t merge_new(const Runtime& runtime, uint32_t native, uintptr_t thread_state) {
  constexpr size_t kRoomBytes = sizeof(g_codes);
  std::atomic<uint32_t>& busy = g_python.is_merging;
  if (busy.exchange(1, std::memory_order_acquire) == 0) {
    const uint32_t merged = merge_into(g_codes, runtime, native, thread_state);
    busy.store(0, std::memory_order_release);
    return merged;
  }
  auto* const room = static_cast<uint32_t*>(kernel::map_memory(kRoomBytes));
  if (room == nullptr) return unmerged(UnplacedReason::kNotNamed);
  const uint32_t merged = merge_into(room, runtime, native, thread_state);
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

// The program's own object may hold an interpreter and much else.
bool is_interpreter_alone(const ModuleFacts& module) {
  return !module.is_main || starts_with(file_name_of(module.path), "python");
}

// The loader lists objects while its lock is held: one thread at a time is here.
bool look_at(const ModuleFacts& module, uint32_t generation) {
  State& python = g_python;
  const Runtime* const known = python.runtime.load(std::memory_order_relaxed);
  if (known != nullptr) {
    return known->module_start == module.start && known->generation == generation && is_interpreter_alone(module);
  }
  uintptr_t bytes = 0;
  const auto find = [&](const char* name) {
    return reinterpret_cast<uintptr_t>(module.find_symbol(module.symbols, name, bytes));
  };
  const auto find_state = [&](const char* name) { return reinterpret_cast<Runtime::StateFunction>(find(name)); };
  const uintptr_t evaluation = find("_PyEval_EvalFrameDefault");
  if (evaluation == 0 || !may_read(evaluation) || python.runtime_count == State::kMaxRuntimes) return false;
  Runtime& runtime = python.runtimes[python.runtime_count++];
  runtime.module_start = module.start;
  runtime.generation = generation;
  runtime.evaluation[0] = {evaluation, bytes};
  const unwind::CfiTables tables{module.tables_start, module.tables_end,
                                 reinterpret_cast<const uint8_t*>(module.tables_start), module.unwind_header};
  runtime.evaluation[1] = find_second_part(runtime.evaluation[0], tables);
  runtime.own_state = find_state("PyGILState_GetThisThreadState");
  runtime.current_state = find_state("_PyThreadState_UncheckedGet");
  if (runtime.current_state == nullptr) runtime.current_state = find_state("PyThreadState_GetUnchecked");
  runtime.version = find_version(find);
  runtime.version.has_layout = runtime.version.has_layout && has_usual_heads(find("PyBaseObject_Type"));
  python.runtime.store(&runtime, std::memory_order_release);
  tell_version();
  return is_interpreter_alone(module);
}

bool is_gone() {
  const Runtime* const known = g_python.runtime.load(std::memory_order_relaxed);
  if (known == nullptr || known->is_loaded()) return false;
  g_python.runtime.store(nullptr, std::memory_order_release);
  return true;
}

uint32_t look_what_runs(const Runtime& runtime, uint32_t native) {
  const UnwindTables& tables = g_session.unwind;
  bool runs = false;
  bool is_interrupted = false;
  for (uint32_t node = native; node >= wire::kRootCount; node = wire::node_parent(tables.trie.node(node))) {
    const uint64_t code = tables.rules.code_at(wire::node_code(tables.trie.node(node)));
    runs = runs || runtime.evaluates(code);
    is_interrupted = is_interrupted || (code & wire::kCodeExact) != 0;
  }
  if (!runs) return kRunsNot;
  return is_interrupted ? kIsInterrupted : kRuns;
}

// Whether the interpreter runs a program on this stack. Only then it is initialized for certain, and may be called: the loader, for one,
// allocates when it has mapped an object and not relocated it.
uint32_t what_runs(const Runtime& runtime, uint32_t native) {
  NumberTable& runs = g_python.runs;
  const uint64_t key = mix(native, runtime.generation + 1) | 1;
  uint32_t known = runs.find(key);
  if (known == 0) {
    known = look_what_runs(runtime, native);
    runs.add(key, known);
  }
  return known;
}

// The merged stack, or why there is none. Without the interpreter's lock: another thread that holds it, or a thread without it, could
// change frames, and at the interpreter's end release them.
uint32_t merge_running(const Runtime& runtime, uint32_t native) {
  State& python = g_python;
  const uintptr_t thread_state = runtime.own_state();
  if (!may_be_object(thread_state) || thread_state != runtime.current_state())
    return unmerged(UnplacedReason::kWithoutLock);
  bool is_cut = false;
  const uint64_t chain = hash_of_chain(runtime.version.layout, thread_state, is_cut);
  if (chain == 0) return unmerged(is_cut ? UnplacedReason::kTooDeep : UnplacedReason::kNotMatching);
  const uint64_t key = mix(chain, native) | 1;
  if (const uint32_t known = python.merged.find(key); known != 0) return known;
  if (python.merged.is_full()) return unmerged(UnplacedReason::kNotNamed);
  const uint32_t merged = merge_new(runtime, native, thread_state);
  python.merged.add(key, merged);
  return merged;
}

uint32_t merge(uint32_t native) {
  const Runtime* const runtime = g_python.runtime.load(std::memory_order_acquire);
  if (native < wire::kRootCount || runtime == nullptr || !runtime->is_usable()) return native;
  const uint32_t what = what_runs(*runtime, native);
  if (what == kRunsNot) return native;
  const uint32_t merged = what == kRuns ? merge_running(*runtime, native) : unmerged(UnplacedReason::kInterrupted);
  if (is_merged(merged)) return merged;
  g_python.log->unplaced_frames[merged - unmerged(UnplacedReason{})].fetch_add(1, std::memory_order_relaxed);
  return native;
}

}  // namespace
}  // namespace heaptap::agent::python

namespace heaptap::agent {

extern "C" constinit const Interpreter heaptap_python{.start = python::start,
                                                      .leave = python::leave,
                                                      .look_at = python::look_at,
                                                      .is_gone = python::is_gone,
                                                      .merge = python::merge};

}  // namespace heaptap::agent
