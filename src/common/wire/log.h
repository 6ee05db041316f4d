// The log: a shared memory, written by the agent inside the target and drained by a collector on the same machine.
// Freestanding; both sides include it. Native byte order, word size and atomic numbers (common/wire/atomic_64.h): for data that leaves
// the machine see common/wire/frame.h.
//
//   ┌ LogHeader ┬ StreamSlot[slot_count] ┬ modules ┬ CodeEntry[code_capacity] ┬ StackNode[node_capacity] ┬ …
//   … ┬ StackAreaEntry[stack_area_capacity] ┬ OwnArea[own_area_capacity] ┬ LabelEntry[label_capacity] ┬ Chunk[chunk_count] ┐
//
// A stream is what one thread (or one signal handler that interrupted a hook of that thread) writes. It owns a list of
// chunks; only its thread writes records, only the collector returns chunks. The collector treats all of this as hostile:
// it copies a field to a local, checks it, then uses it.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "common/wire/atomic_64.h"
#include "common/wire/exit_handshake.h"
#include "common/wire/release_stacks.h"
#include "common/wire/sampling.h"

namespace heaptap::wire {

inline constexpr uint32_t kLogMagic = 0x50415448;  // "HTAP"
inline constexpr uint32_t kLogVersion = 19;
inline constexpr uint32_t kChunkBytes = 8192;
inline constexpr uint32_t kMaxThreads = 1u << 22;  // threads beyond it share the last number
inline constexpr uint32_t kNoChunk = 0xffffffff;
inline constexpr uint32_t kNeverWake = 0xffffffff;
inline constexpr uint32_t kMaxRowMisses = 64;

// Outcome for the agent when the program, or a child of it, executes another program. Traces use the same numbers
// (common/model/notes.def).
enum class ExecOutcome : uint32_t {
  kNone = 0,            // nothing was executed
  kHandedOn = 1,        // the agent continues in the new program
  kStatic = 2,          // static: has no loader that could load the agent
  kOtherLoader = 3,     // uses the loader of another C library
  kOtherMachine = 4,    // not a 64-bit program of this CPU
  kPrivileged = 5,      // setuid, setgid or file capabilities
  kSanitizer = 6,       // built with a sanitizer
  kUnreadable = 7,      // unreadable, or no program
  kOutOfReach = 8,      // the agent's library isn't there, e.g. in another root, or the collector can't be reached
  kEnvironment = 9,     // the environment is too large, or belongs to another collector
  kBesideThreads = 10,  // by system or popen, while another thread could see the changed environment
  kNotFollowed = 11,    // children are not recorded; also counted where they are forked
};
inline constexpr uint32_t kExecOutcomeCount = 12;

enum class OverflowPolicy : uint32_t { kWait = 0, kDrop = 1 };

// Maximum depth of whole stacks where no depth is set. Of deeper stacks some innermost frames are kept
// (common/unwind/last_stack.h).
inline constexpr uint32_t kWholeFrames = 4096;
inline constexpr uint32_t kMaxOfDeeper = 1280;
inline constexpr uint32_t kMinOfDeeper = 256;

// Layout of a log, and the collector's settings for the agent. Written by the collector before it hands the memory
// over. From then on both sides use a private copy: the program may overwrite this one.
struct alignas(8) LogLayout {
  uint32_t magic;
  uint32_t version;
  uint64_t total_bytes;
  uint32_t slot_count;
  uint32_t code_capacity;
  uint32_t node_capacity;
  uint32_t chunk_count;  // in the memory
  uint64_t slots_offset;
  uint64_t modules_offset;
  uint64_t modules_capacity;  // bytes
  uint64_t codes_offset;
  uint64_t nodes_offset;
  uint64_t chunks_offset;
  uint64_t stack_areas_offset;
  uint64_t own_areas_offset;
  uint32_t stack_area_capacity;  // a power of two
  uint32_t own_area_capacity;
  uint32_t depth_limit;  // maximum frames per stack, from the innermost; 0: not set, see kWholeFrames
  OverflowPolicy overflow_policy;
  uint32_t overflow_wait_ms;          // maximum of one wait for a free chunk
  uint32_t start_chunks;              // usable from the start, see usable_chunks
  uint32_t flags;                     // SessionFlag
  alignas(8) uint64_t totals_offset;  // see common/wire/totals.h; 0: no totals, blocks' events are records
  uint64_t labels_offset;
  uint32_t label_capacity;      // see common/wire/labels.h
  uint32_t start_nodes;         // usable from the start, see usable_nodes
  uint64_t late_rows_offset;    // see common/wire/late_rows.h
  uint64_t late_rows_capacity;  // bytes; 0: no late rows
  uint64_t sample_interval;     // bytes, see common/wire/sampling.h; 0: all blocks are recorded
};
static_assert(sizeof(LogLayout) == 176);

// Why an interpreter's frames have no place in the native stack of an allocation.
enum class UnplacedReason : uint32_t {
  kInterrupted,  // a signal handler runs, possibly between two steps of the interpreter
  kWithoutLock,  // others can change and release the frames; or in a subinterpreter: its state isn't the thread's first one
  kTooDeep,      // more frames than are merged
  kNotNamed,     // what they run can't be read, or there is no room for its names
  kNotMatching,  // the native stack has other calls of the interpreter
};
inline constexpr size_t kUnplacedReasonCount = 5;

// Layout and shared counters.
struct LogHeader : LogLayout {
  char omitted_objects[1024];  // names separated by '\n', ends with '\0'

  // Counted by the agent, read by the collector at any time.
  alignas(64) std::atomic<uint32_t> code_count;
  std::atomic<uint32_t> node_count;
  Atomic64 lost_events;                   // no chunk, no slot, nesting too deep
  std::atomic<uint32_t> modules_bytes;    // length of the module notes; stored with release after the last complete one
  std::atomic<uint32_t> module_overflow;  // modules that didn't fit into the agent's table
  std::atomic<uint32_t> agent_state;      // AgentState
  std::atomic<uint32_t> slots_used;       // slots from this index on were never used
  std::atomic<uint32_t> free_slot_hint;   // slots below this index are likely taken
  // Nodes below this index may be used. Raised by the collector as they become many, where there is memory for them.
  std::atomic<uint32_t> usable_nodes;
  std::atomic<uint32_t> was_without_node;  // nonzero: a stack was cut, for lack of a node or a code entry

  // Free chunks: a stack. Low 32 bits: index of the first free chunk or kNoChunk; high 32 bits: a tag against ABA.
  alignas(64) Atomic64 free_chunks;
  std::atomic<uint32_t> fresh_chunks;  // index of the first chunk that was never used
  std::atomic<uint32_t> used_chunks;   // in streams now
  // Chunks below this index may be used. Raised by the collector when the log is full, or there are many threads.
  std::atomic<uint32_t> usable_chunks;
  std::atomic<uint32_t> waits_in_vain;  // waits given up because the collector returned no chunk in the meantime
  // For an idle collector: the thread whose chunk reaches this threshold increments `rings` and wakes it, once.
  std::atomic<uint32_t> wake_threshold;  // kNeverWake: it is awake, or has been woken
  std::atomic<uint32_t> rings;           // a futex

  // Futex word, incremented whenever chunks are returned: a thread that waits for a chunk waits on it.
  alignas(64) std::atomic<uint32_t> chunks_returned;

  // Read by the agent for each event. The clock is raised by the collector now and then, and incremented by threads that may not read
  // the processor's.
  alignas(64) Atomic64 coarse_clock;
  std::atomic<uint32_t> thread_count;      // last number given to a thread; the first thread is 1
  std::atomic<uint32_t> own_scopes;        // nonzero: calls of some libraries bypass the hooks
  std::atomic<uint32_t> recording_switch;  // RecordingSwitch
  std::atomic<uint32_t> late_rows_bytes;   // length of the late rows; stored with release after the last complete ones
  std::atomic<uint32_t> is_filtered;  // nonzero: the collector has seen that the program installed a seccomp filter

  alignas(64) ExitHandshake exit_handshake;
  std::atomic<uint32_t> stack_area_overflow;  // stacks that replaced others in the table
  std::atomic<uint32_t> own_area_count;       // entries from this index on were never used
  std::atomic<uint32_t> own_area_overflow;    // own mappings that are not in the table
  std::atomic<uint32_t> children_unreached;   // forked children that should be recorded but couldn't request a log
  std::atomic<uint32_t> last_exec;            // ExecOutcome of the process's last exec
  std::atomic<uint32_t>
      execs_refused[kExecOutcomeCount];  // children that executed another program unrecorded, by reason
  std::atomic<uint32_t> label_count;     // entries from this index on were never used
  std::atomic<uint32_t> unkept_labels;   // tags and pools for which there was no room
  // The signal that requests a report from the program (0: none), set by the collector before it hands the memory over;
  // and the number of its arrivals, counted by the agent's handler or the tracer.
  std::atomic<uint32_t> report_signal;
  std::atomic<uint32_t> report_requests;
  // With kInterpreterFrames: the version of an interpreter whose frames can't be read, as its PY_VERSION_HEX (kNoInterpreter: none was
  // loaded; 0: they are read), and allocations whose frames have no known place in the native stack, by UnplacedReason.
  std::atomic<uint32_t> unread_interpreter;
  Atomic64 unplaced_frames[kUnplacedReasonCount];
  // Code without an unwind row, by code entry, where objects may get late rows (common/wire/late_rows.h).
  std::atomic<uint32_t> row_miss_count;
  Atomic64 row_misses[kMaxRowMisses];
};
static_assert(has_size<LogHeader>(2240));

inline constexpr uint32_t kNoInterpreter = 1;

enum SessionFlag : uint32_t {
  kFollowFork = 1u << 0,
  kFollowExec = 1u << 1,
  kNoCpp = 1u << 2,            // operator new and delete are no events of their own, their malloc and free calls are
  kScanAtEnd = 1u << 3,        // the program's end waits for a last scan, see common/wire/exit_handshake.h
  kCountTime = 1u << 4,        // the processor's clock can't be trusted: each event increments coarse_clock, then in ns
  kReleaseCallers = 1u << 5,   // a release's stack is its caller alone
  kNoReleaseStacks = 1u << 6,  // releases have no stacks
  kInterpreterFrames =
      1u << 7,  // stacks of allocations have the frames of the interpreted program, see make_named_code()
};

constexpr uint32_t flags_for(ReleaseStacks kept) {
  if (kept == ReleaseStacks::kFull) return 0;
  return kept == ReleaseStacks::kCaller ? kReleaseCallers : kNoReleaseStacks;
}

// Set by the collector and by the program, read for each event. While it is off, nothing counts as lost.
enum class RecordingSwitch : uint32_t {
  kOn = 0,
  kOff = 1,       // paused: records only ends of what may have been recorded, see ends_something()
  kDetached = 2,  // detached for good: the log isn't read any more, and the exit handshake is skipped
  kNotYet = 3,    // begun switched off: nothing has been recorded that could end
};

inline bool is_switched_off(const LogHeader& log) {
  return log.recording_switch.load(std::memory_order_relaxed) != static_cast<uint32_t>(RecordingSwitch::kOn);
}

enum class AgentState : uint32_t { kNotConnected = 0, kRecording = 1 };

enum class StreamState : uint32_t { kFree = 0, kActive = 1, kEnded = 2, kClaimed = 3 };

// Slot of one writer. 128 bytes: two streams never share a cache line, even with the adjacent-line prefetcher.
struct alignas(128) StreamSlot {
  std::atomic<uint32_t> state;  // StreamState: kFree -> kClaimed -> kActive -> kEnded (agent) -> kFree (collector)
  uint32_t thread_id;           // the kernel's
  uint32_t thread_number;       // 1, 2, … in order of first event
  uint32_t first_chunk;
  std::atomic<uint32_t> activity;  // see begin_activity()
  uint32_t reserved;
  Atomic64 lost_events;
  Atomic64 started_at;  // clock
  CallCounts calls;     // where blocks are sampled
};
static_assert(has_size<StreamSlot>(128));

// Activity count of a stream, incremented at the beginning and at the end of each record. Odd: a record is being made, whose
// time may be older than that of records written by others since. Even and unchanged: nothing was written, and the
// collector skips the stream. Only the stream's writer changes it; if the program corrupts it, the next record corrects it.
inline __attribute__((always_inline)) void begin_activity(StreamSlot& slot) {
  slot.activity.store((slot.activity.load(std::memory_order_relaxed) + 1) | 1, std::memory_order_relaxed);
}
inline __attribute__((always_inline)) void end_activity(StreamSlot& slot) {  // pairs with the collector's acquire
  slot.activity.store((slot.activity.load(std::memory_order_relaxed) | 1) + 1, std::memory_order_release);
}
constexpr bool is_in_record(uint32_t activity) { return (activity & 1) != 0; }

// Head of a chunk; records follow it. `committed` counts bytes of the chunk from its start (so at least sizeof). The
// writer stores it with release after the record's bytes; the collector loads it with acquire. `next`: index of the
// stream's next chunk, plus one; stored with release after the last commit of this chunk.
struct ChunkHeader {
  std::atomic<uint32_t> committed;
  std::atomic<uint32_t> next;
  std::atomic<uint32_t> free_link;  // index of the next free chunk while this one is free
  uint32_t reserved;
  uint64_t base_time;  // record times count from here
};
static_assert(sizeof(ChunkHeader) == 24);

// Code address in a stack: a return address, or an interrupted instruction's. Bits 0..47 the address, bits 48..62 the
// generation of its module range (a range that another object is mapped into gets the next generation), bit 63: the
// address is that of the instruction itself, not of the one after a call.
using CodeEntry = Atomic64;
static_assert(has_size<CodeEntry>(8));
inline constexpr uint64_t kCodeAddressMask = (uint64_t{1} << 48) - 1;
inline constexpr uint64_t kCodeExact = uint64_t{1} << 63;
inline constexpr uint32_t kGenerationMask = 0x7fff;
constexpr uint64_t code_address(uint64_t entry) { return entry & kCodeAddressMask; }
constexpr uint32_t code_generation(uint64_t entry) { return static_cast<uint32_t>(entry >> 48) & kGenerationMask; }
constexpr uint64_t with_generation(uint64_t entry, uint32_t generation) {
  return (entry & (kCodeAddressMask | kCodeExact)) | uint64_t{generation & kGenerationMask} << 48;
}

// Code entry of a frame without an address, of an interpreted function: the label that names the function (common/wire/labels.h)
// and the line, where others have the address. Bit 47 is set, which no address of user space has, and bits 48..63.
inline constexpr uint64_t kNamedCode = uint64_t{0x1ffff} << 47;
inline constexpr unsigned kNamedLabelBits = 20;
inline constexpr uint32_t kMaxNamedLine = (uint32_t{1} << (47 - kNamedLabelBits)) - 1;
constexpr bool is_named_code(uint64_t entry) { return (entry & kNamedCode) == kNamedCode; }
constexpr uint64_t make_named_code(uint32_t label, uint32_t line) {
  return kNamedCode | uint64_t{line < kMaxNamedLine ? line : kMaxNamedLine} << kNamedLabelBits | label;
}
constexpr uint32_t named_label(uint64_t entry) {
  return static_cast<uint32_t>(entry) & ((uint32_t{1} << kNamedLabelBits) - 1);
}
constexpr uint32_t named_line(uint64_t entry) {
  return static_cast<uint32_t>(entry >> kNamedLabelBits) & kMaxNamedLine;
}

// Node of the trie of call stacks: the path from a node to its root is a stack, innermost frame first. Low 32 bits:
// parent node; high 32 bits: index of the code entry. Nodes 0..kRootCount-1 are roots and have no entry: the root
// encodes how the stack ended.
using StackNode = Atomic64;
static_assert(has_size<StackNode>(8));
enum class StackEnd : uint8_t {
  kComplete = 0,         // reached the thread's first frame
  kNoUnwindTable = 1,    // a frame's code has no CFI, and its frame pointer led nowhere
  kUnsupportedRule = 2,  // CFI that the unwinder doesn't support
  kUnreadable = 3,       // the stack's memory ended or made no sense
  kDepthLimit = 4,       // deeper than the limit
  kTableFull = 5,        // no room left for another stack
  kNotUnwound = 6,       // the event occurred where unwinding was not possible
  kMissing = 7,          // only in readers: the stack was in a damaged part of the trace
};
inline constexpr uint32_t kRootCount = 8;
constexpr uint64_t make_node(uint32_t parent, uint32_t code) { return uint64_t{code} << 32 | parent; }
constexpr uint32_t node_parent(uint64_t node) { return static_cast<uint32_t>(node); }
constexpr uint32_t node_code(uint64_t node) { return static_cast<uint32_t>(node >> 32); }

// Flag of a labelled stack: the node stands for its parent's stack under a label (common/wire/labels.h), and has the label's
// number in place of a code entry's index. Such a node is never a parent.
inline constexpr uint32_t kLabelCode = uint32_t{1} << 31;
constexpr bool is_label_code(uint32_t code) { return (code & kLabelCode) != 0; }

// Claims the next entry of one of the log's tables; kNoEntry: the table is full. The count exceeds a full table only by
// threads that found it full at the same moment.
inline constexpr uint32_t kNoEntry = 0xffffffff;
inline uint32_t claim_entry(std::atomic<uint32_t>& count, uint32_t capacity) {
  if (count.load(std::memory_order_relaxed) >= capacity) return kNoEntry;
  const uint32_t index = count.fetch_add(1, std::memory_order_relaxed);
  return index < capacity ? index : kNoEntry;
}

enum class RecordKind : uint8_t {
  kNone = 0,
  kAllocate = 1,  // 24 bytes: with a size
  kRelease = 2,   // 16 bytes
  kUndo = 3,      // 16 bytes: the thread's last release did not happen (a realloc that failed)
  kMap = 4,       // 24 bytes: with the length and the kind of memory (common/wire/mapping.h)
  kUnmap = 5,     // 24 bytes
  kNote = 6,      // 16 bytes, followed by the note's own, see NoteKind
  // Reports of the program on a pool of its own (common/wire/labels.h); 24 bytes, with a PooledSize.
  kPoolAllocate = 7,
  kPoolRelease = 8,
  kPoolDestroy = 9,  // releases all live blocks of the pool
  kProtect = 10,     // 24 bytes, as kMap: the new access; the source is unused
};

// Kinds recorded even while recording is switched off, or earlier blocks would stay alive forever. Such a record has no
// stack (StackEnd::kNotUnwound). It has no effect where no recorded block ends by it.
constexpr bool ends_something(RecordKind kind) {
  switch (kind) {
    case RecordKind::kRelease:
    case RecordKind::kUndo:
    case RecordKind::kUnmap:
    case RecordKind::kPoolRelease:
    case RecordKind::kPoolDestroy:
    case RecordKind::kProtect:  // changes the access of recorded memory
      return true;
    default:
      return false;
  }
}

// Whether such an event is recorded with the current switch.
inline bool is_recorded(const LogHeader& log, RecordKind kind) {
  const auto position = static_cast<RecordingSwitch>(log.recording_switch.load(std::memory_order_relaxed));
  return position == RecordingSwitch::kOn || (position == RecordingSwitch::kOff && ends_something(kind));
}

//  63      56 55      48 47                                   0
// ┌──────────┬──────────┬──────────────────────────────────────┐
// │ time (clock ticks since the chunk's base)│ stack (node)     │  word 0: low half time, high half stack
// ├──────────┼──────────┼──────────────────────────────────────┤
// │ kind     │ function │ address                              │  word 1
// ├──────────┴──────────┴──────────────────────────────────────┤
// │ size in bytes                                              │  word 2, where the kind has one
// └────────────────────────────────────────────────────────────┘
struct Record {
  uint32_t time;
  uint32_t stack;
  uint64_t tagged_address;
};
static_assert(sizeof(Record) == 16);
struct SizedRecord {
  Record head;
  uint64_t size_bytes;
};
static_assert(sizeof(SizedRecord) == 24);

constexpr uint64_t make_tagged_address(RecordKind kind, uint8_t function, uint64_t address) {
  return uint64_t{static_cast<uint8_t>(kind)} << 56 | uint64_t{function} << 48 | (address & kCodeAddressMask);
}
constexpr RecordKind record_kind(uint64_t tagged_address) { return static_cast<RecordKind>(tagged_address >> 56); }
constexpr uint8_t record_function(uint64_t tagged_address) { return static_cast<uint8_t>(tagged_address >> 48); }
constexpr uint32_t record_call(uint64_t tagged_address) {
  return static_cast<uint32_t>(tagged_address >> 48);
}  // kind and function
constexpr uint64_t record_address(uint64_t tagged_address) { return tagged_address & kCodeAddressMask; }

// Notes: `function` holds the NoteKind, `stack` the number of bytes after the first 16 (a multiple of 8). A reader
// skips unknown kinds.
enum class NoteKind : uint8_t {
  kClock = 1,  // 8 bytes: the clock's absolute value; later times of the chunk count from here
  // Texts of the program. Each has a time like an event, and is ordered among its thread's events.
  kMark = 2,         // a text: the moment's name
  kBlockName = 3,    // a text: the name of the block at the address
  kSwitchedOff = 4,  // the program is about to switch recording off
  kSwitchedOn = 5,   // the program has switched it on
};
constexpr bool is_said_by_program(NoteKind kind) { return kind >= NoteKind::kMark && kind <= NoteKind::kSwitchedOn; }
// Texts are zero-padded; longer ones are cut.
inline constexpr uint32_t kMaxNoteTextBytes = 248;

constexpr NoteKind note_kind(uint64_t tagged_address) { return static_cast<NoteKind>(record_function(tagged_address)); }

// Loaded object; notes are adjacent in the log's module area, each a multiple of 8 bytes, path included.
struct ModuleNote {
  uint64_t bias;   // load address minus the file's link address
  uint64_t start;  // of the mapped range
  uint64_t end;
  uint32_t generation;  // of the range, see CodeEntry
  uint16_t path_bytes;  // follow the struct, no terminator
  uint8_t build_id_bytes;
  uint8_t flags;  // ModuleFlag
  uint8_t build_id[32];
};
static_assert(sizeof(ModuleNote) == 64);
enum ModuleFlag : uint8_t {
  kModuleIsMain = 1,
  kModuleHasNoCfi = 2,
  kModuleIsVdso = 4,
  kModuleIsInterpreter = 16,  // whose program's frames are recorded (8 is taken in traces)
};

constexpr uint32_t record_bytes(RecordKind kind) {
  switch (kind) {
    case RecordKind::kAllocate:
    case RecordKind::kMap:
    case RecordKind::kUnmap:
    case RecordKind::kProtect:
    case RecordKind::kPoolAllocate:
    case RecordKind::kPoolRelease:
    case RecordKind::kPoolDestroy:
      return sizeof(SizedRecord);
    case RecordKind::kRelease:
    case RecordKind::kUndo:
    case RecordKind::kNote:
      return sizeof(Record);
    case RecordKind::kNone:
      break;
  }
  return 0;
}

}  // namespace heaptap::wire
