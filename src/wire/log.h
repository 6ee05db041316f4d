// The log: one shared memory, written by the agent inside the target and drained by a collector on the same machine.
// Freestanding; both sides include it. Native byte order and word size: what leaves the machine is wire/frame.h.
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

#include "wire/exit_handshake.h"

namespace heaptap::wire {

inline constexpr uint32_t kLogMagic = 0x50415448;  // "HTAP"
inline constexpr uint32_t kLogVersion = 13;
inline constexpr uint32_t kChunkBytes = 8192;
inline constexpr uint32_t kMaxThreads = 1u << 22;  // threads beyond it share the last number
inline constexpr uint32_t kNoChunk = 0xffffffff;
inline constexpr uint32_t kNeverWake = 0xffffffff;
inline constexpr uint32_t kMaxRowMisses = 64;

// What became of the agent where the program, or a child of it, executed another program. Traces name them by number, too
// (model/notes.def).
enum class ExecOutcome : uint32_t {
  kNone = 0,            // nothing was executed
  kHandedOn = 1,        // it goes on there
  kStatic = 2,          // there is no loader that could take it there
  kOtherLoader = 3,     // of another C library
  kOtherMachine = 4,    // no 64-bit program of this CPU
  kPrivileged = 5,      // a program with rights of its own
  kSanitizer = 6,       // one that is built with a sanitizer
  kUnreadable = 7,      // the file can't be read, or is no program
  kOutOfReach = 8,      // the agent's library isn't there, in another root, say, or no way leads to the collector
  kSurroundings = 9,    // an environment that is too large, or another collector's
  kBesideThreads = 10,  // by system or popen, where another thread could see what is lent to it
  kNotFollowed = 11,    // children weren't to be recorded; counted where they are forked, too
};
inline constexpr uint32_t kExecOutcomeCount = 12;

enum class OverflowPolicy : uint32_t { kWait = 0, kDrop = 1 };

// Frames of stacks where no depth is asked for: up to so many they are whole. Of deeper ones some innermost frames are kept
// (unwind/last_stack.h says how many when).
inline constexpr uint32_t kWholeFrames = 4096;
inline constexpr uint32_t kMaxOfDeeper = kWholeFrames / 2;
inline constexpr uint32_t kMinOfDeeper = kWholeFrames / 8;

// Where the parts of a log lie, and what the collector asks of the agent. The collector writes it before it hands the memory over. Both
// sides go by a copy of their own from then on: the program may overwrite this one.
struct LogLayout {
  uint32_t magic;
  uint32_t version;
  uint64_t total_bytes;
  uint32_t slot_count;
  uint32_t code_capacity;
  uint32_t node_capacity;
  uint32_t chunk_count;  // that the memory has
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
  uint32_t depth_limit;  // frames a stack keeps, from the innermost; 0: none is asked for, see kWholeFrames
  OverflowPolicy overflow_policy;
  uint32_t overflow_wait_ms;  // bound of one wait for a free chunk
  uint32_t start_chunks;      // that may be used from the start, see usable_chunks
  uint32_t flags;             // SessionFlag
  uint64_t totals_offset;     // see wire/totals.h; 0: there are none, blocks' events are records
  uint64_t labels_offset;
  uint32_t label_capacity;  // see wire/labels.h
  uint32_t reserved;
  uint64_t late_rows_offset;    // see wire/late_rows.h
  uint64_t late_rows_capacity;  // bytes; 0: none come
};
static_assert(sizeof(LogLayout) == 168);

// The layout, and what both sides count.
struct LogHeader : LogLayout {
  char omitted_objects[1024];  // names separated by '\n', ends with '\0'

  // Counted by the agent, read by the collector at any time.
  alignas(64) std::atomic<uint32_t> code_count;
  std::atomic<uint32_t> node_count;
  std::atomic<uint64_t> lost_events;      // no chunk, no slot, nesting too deep
  std::atomic<uint32_t> modules_bytes;    // of the module notes; stored with release behind the last whole one
  std::atomic<uint32_t> module_overflow;  // modules that didn't fit into the agent's table
  std::atomic<uint32_t> agent_state;      // AgentState
  std::atomic<uint32_t> slots_used;       // no slot from this index on was ever used
  std::atomic<uint32_t> free_slot_hint;   // slots below this index are likely taken

  // Free chunks: a stack. Low 32 bits: index of the first free chunk or kNoChunk; high 32 bits: a tag against ABA.
  alignas(64) std::atomic<uint64_t> free_chunks;
  std::atomic<uint32_t> fresh_chunks;  // chunks that were never used yet begin at this index
  std::atomic<uint32_t> used_chunks;   // in streams now
  // Chunks below this index may be used. Raised by the collector where the log is full, or threads are many.
  std::atomic<uint32_t> usable_chunks;
  std::atomic<uint32_t> waits_in_vain;  // given up, since the collector gave nothing back meanwhile
  // While the collector rests: who takes a chunk when that many are in use counts `rings` up and wakes it, once.
  std::atomic<uint32_t> wake_threshold;  // kNeverWake: it is awake, or was woken
  std::atomic<uint32_t> rings;           // a futex

  // Futex word, counted up whenever chunks came back: a thread that has to wait for a chunk waits on it.
  alignas(64) std::atomic<uint32_t> chunks_returned;

  // Read by the agent for each event.
  alignas(64) std::atomic<
      uint64_t> coarse_clock;          // raised by the collector now and then; counted up by who may not read the clock
  std::atomic<uint32_t> thread_count;  // numbers given to threads so far; the first thread is 1
  std::atomic<uint32_t> own_scopes;    // not 0: some libraries' calls go past the hooks
  std::atomic<uint32_t> recording_switch;  // RecordingSwitch
  std::atomic<uint32_t> late_rows_bytes;   // of the late rows; stored with release behind the last whole ones
  std::atomic<uint32_t> is_filtered;  // not 0: the collector saw that the program is under a filter of its own since

  alignas(64) ExitHandshake exit_handshake;
  std::atomic<uint32_t> stack_area_overflow;               // stacks that took the place of others in the table
  std::atomic<uint32_t> own_area_count;                    // no entry from this index on was ever used
  std::atomic<uint32_t> own_area_overflow;                 // own mappings that are not in the table
  std::atomic<uint32_t> children_unreached;                // forked, to be recorded, and couldn't ask for a log
  std::atomic<uint32_t> last_exec;                         // ExecOutcome: as the process executed another program
  std::atomic<uint32_t> execs_refused[kExecOutcomeCount];  // children that executed unrecorded, by why
  std::atomic<uint32_t> label_count;                       // no entry from this index on was ever used
  std::atomic<uint32_t> unkept_labels;                     // tags and pools that there was no room for
  // The signal by which the program is to be asked for a report (0: none), set by the collector before it hands the memory over;
  // and how often it came, counted by who sees it: the agent's handler or the tracer.
  std::atomic<uint32_t> report_signal;
  std::atomic<uint32_t> report_requests;
  // Code without a row for unwinding, by its entry (CodeEntry), where objects may get some late (wire/late_rows.h).
  std::atomic<uint32_t> row_miss_count;
  std::atomic<uint64_t> row_misses[kMaxRowMisses];
};
static_assert(sizeof(LogHeader) == 2176);

enum SessionFlag : uint32_t {
  kFollowFork = 1u << 0,
  kFollowExec = 1u << 1,
  kNoCpp = 1u << 2,      // operator new and delete are not events of their own, malloc and free under them are
  kScanAtEnd = 1u << 3,  // the program's end waits for a last look at its memory, see wire/exit_handshake.h
  kCountTime =
      1u << 4,  // the processor's clock can't be trusted: each event counts coarse_clock up, which is in ns then
};

// Set by the collector and by the program, read for each event. Who finds it off counts nothing as lost.
enum class RecordingSwitch : uint32_t {
  kOn = 0,
  kOff = 1,     // for a while: only what ends something that may have been recorded is, see ends_something()
  kLetGo = 2,   // for good: nobody reads the log any more, and nobody is there to be waited for at the end
  kNotYet = 3,  // as it began: nothing was recorded yet that could end
};

inline bool is_switched_off(const LogHeader& log) {
  return log.recording_switch.load(std::memory_order_relaxed) != static_cast<uint32_t>(RecordingSwitch::kOn);
}

enum class AgentState : uint32_t { kNotConnected = 0, kRecording = 1 };

enum class StreamState : uint32_t { kFree = 0, kActive = 1, kEnded = 2, kClaimed = 3 };

// One writer's place. 128 bytes: two streams never share a cache line, also with the adjacent-line prefetcher.
struct alignas(128) StreamSlot {
  std::atomic<uint32_t> state;  // StreamState: kFree -> kClaimed -> kActive -> kEnded (agent) -> kFree (collector)
  uint32_t thread_id;           // the kernel's
  uint32_t thread_number;       // 1, 2, … in order of first event
  uint32_t first_chunk;
  std::atomic<uint32_t> activity;  // see begin_activity()
  uint32_t reserved;
  std::atomic<uint64_t> lost_events;
  std::atomic<uint64_t> started_at;  // clock
};
static_assert(sizeof(StreamSlot) == 128);

// A stream's activity counts its records, twice: as they are begun and as they are done. Odd: one is being made, whose time may be
// older than what others write meanwhile. Even, and what it was: nothing was written to the stream, which isn't looked at then.
// Only the stream's writer changes it; whatever the program has made of it by mistake, it is right again with the next record.
inline __attribute__((always_inline)) void begin_activity(StreamSlot& slot) {
  slot.activity.store((slot.activity.load(std::memory_order_relaxed) + 1) | 1, std::memory_order_relaxed);
}
inline __attribute__((always_inline)) void end_activity(StreamSlot& slot) {  // pairs with the collector's acquire
  slot.activity.store((slot.activity.load(std::memory_order_relaxed) | 1) + 1, std::memory_order_release);
}
constexpr bool is_in_record(uint32_t activity) { return (activity & 1) != 0; }

// Head of a chunk; records follow it. `committed` counts bytes of the chunk from its start (so at least sizeof).
// The writer stores it with release after the record's bytes; the collector loads it with acquire.
// `next` is stored with release after the last commit of this chunk: index of the stream's next chunk, plus one.
struct ChunkHeader {
  std::atomic<uint32_t> committed;
  std::atomic<uint32_t> next;
  std::atomic<uint32_t> free_link;  // index of the next free chunk while this one is free
  uint32_t reserved;
  uint64_t base_time;  // record times count from here
};
static_assert(sizeof(ChunkHeader) == 24);

// A return address (or an interrupted instruction's address) that occurs in a stack. Bits 0..47 the address, bits 48..62 the
// generation of the module range it lies in (a range that is mapped again by another object gets the next generation),
// bit 63: the address is that of the instruction itself, not of the one behind a call.
using CodeEntry = std::atomic<uint64_t>;
static_assert(sizeof(CodeEntry) == 8 && CodeEntry::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);
inline constexpr uint64_t kCodeAddressMask = (uint64_t{1} << 48) - 1;
inline constexpr uint64_t kCodeExact = uint64_t{1} << 63;
inline constexpr uint32_t kGenerationMask = 0x7fff;
constexpr uint64_t code_address(uint64_t entry) { return entry & kCodeAddressMask; }
constexpr uint32_t code_generation(uint64_t entry) { return static_cast<uint32_t>(entry >> 48) & kGenerationMask; }

// A node of the trie of call stacks: the path from a node to its root is a stack, innermost frame first.
// Low 32 bits: parent node; high 32 bits: index of the code entry. Nodes 0..kRootCount-1 are roots and have no entry:
// which root a stack ends in says how it ended.
using StackNode = std::atomic<uint64_t>;
static_assert(sizeof(StackNode) == 8);
enum class StackEnd : uint8_t {
  kComplete = 0,         // reached the thread's first frame
  kNoUnwindTable = 1,    // a frame's code has no CFI and no frame pointer led on
  kUnsupportedRule = 2,  // CFI that the unwinder can't follow
  kUnreadable = 3,       // the stack's memory ended or made no sense
  kDepthLimit = 4,       // deeper than asked for
  kTableFull = 5,        // no room left for another stack
  kNotUnwound = 6,       // the event came where unwinding was not possible
  kMissing = 7,          // in no log: a reader's word for a stack that stood in a damaged part of the trace
};
inline constexpr uint32_t kRootCount = 8;
constexpr uint64_t make_node(uint32_t parent, uint32_t code) { return uint64_t{code} << 32 | parent; }
constexpr uint32_t node_parent(uint64_t node) { return static_cast<uint32_t>(node); }
constexpr uint32_t node_code(uint64_t node) { return static_cast<uint32_t>(node >> 32); }

// A node may stand for its parent's stack under a label of the program's (wire/labels.h): in place of the index of a code entry it
// has the label's number then. No node has such a one as its parent.
inline constexpr uint32_t kLabelCode = uint32_t{1} << 31;
constexpr bool is_label_code(uint32_t code) { return (code & kLabelCode) != 0; }

// The number of the next entry of one of the log's tables, for whoever writes it; kNoEntry: the table is full. Of a full table the
// count goes no further than by those who found it full at one moment.
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
  kMap = 4,       // 24 bytes: with the length and what the memory is (wire/mapping.h)
  kUnmap = 5,     // 24 bytes
  kNote = 6,      // 16 bytes and the note's own, see NoteKind
  // What the program tells of a pool of its own (wire/labels.h); 24 bytes, with a PooledSize.
  kPoolAllocate = 7,
  kPoolRelease = 8,
  kPoolDestroy = 9,  // all that is alive in the pool is released
  kProtect = 10,     // 24 bytes, as of kMap: what may be done there from now on; of no source
};

// What is recorded also while recording is switched off, or what was recorded before would be alive for ever. Such a record has no
// stack (StackEnd::kNotUnwound). Where nothing that is known ends by it, it says nothing at all.
constexpr bool ends_something(RecordKind kind) {
  switch (kind) {
    case RecordKind::kRelease:
    case RecordKind::kUndo:
    case RecordKind::kUnmap:
    case RecordKind::kPoolRelease:
    case RecordKind::kPoolDestroy:
    case RecordKind::kProtect:  // what could be done there
      return true;
    default:
      return false;
  }
}

// Whether such an event is recorded, as the switch stands.
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

// Notes: `function` holds the NoteKind, `stack` the number of bytes that follow the 16 (a multiple of 8). A reader passes over
// kinds that it doesn't know.
enum class NoteKind : uint8_t {
  kClock = 1,  // 8 bytes: the clock's absolute value; later times of the chunk count from here
  // The program's words. Each has a time as an event has, and follows and precedes its thread's events.
  kMark = 2,         // a text: the moment's name
  kBlockName = 3,    // a text: the name of the block at the address
  kSwitchedOff = 4,  // the program is about to switch recording off,
  kSwitchedOn = 5,   // or has switched it on
};
constexpr bool is_said_by_program(NoteKind kind) { return kind >= NoteKind::kMark && kind <= NoteKind::kSwitchedOn; }
// Texts are filled up with zeros; longer ones are cut.
inline constexpr uint32_t kMaxNoteTextBytes = 248;

constexpr NoteKind note_kind(uint64_t tagged_address) { return static_cast<NoteKind>(record_function(tagged_address)); }

// A loaded object, one behind the other in the log's modules; each takes a multiple of 8 bytes, path included.
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
enum ModuleFlag : uint8_t { kModuleIsMain = 1, kModuleHasNoCfi = 2, kModuleIsVdso = 4 };

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
