// Leak scan as stored in a trace: live blocks, pointers between them, and roots. Numbers only; leaks and retained sizes
// are computed from it later (leaks).
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/model/event.h"
#include "common/model/note.h"
#include "common/model/resident_regions.h"
#include "common/wire/heap_scan.h"

namespace heaptap::model {

// Index for no block.
inline constexpr uint32_t kNoBlock = 0xffffffff;

// First numbers of blocks in a scan that no event is of: of pools, and of what was allocated before the recording. Not used elsewhere;
// in another scan the same block may have another one.
inline constexpr BlockNumber kFirstPooledNumber = BlockNumber{1} << 48;
inline constexpr BlockNumber kFirstEarlierNumber = BlockNumber{1} << 52;
constexpr bool is_earlier(BlockNumber number) { return number >= kFirstEarlierNumber; }
constexpr bool is_pooled(BlockNumber number) { return number >= kFirstPooledNumber && !is_earlier(number); }
constexpr bool has_event(BlockNumber number) { return number < kFirstPooledNumber; }

struct ScannedBlock {
  uint64_t address;
  uint64_t size_bytes;
  BlockNumber number;
  SiteId site;    // of its allocation
  uint64_t type;  // address of its vtable, if it begins with a pointer into a module's read-only data; else 0
};

// Pointer from a word of a block to another block.
struct BlockPointer {
  uint32_t to;      // index into HeapScan::blocks
  uint32_t offset;  // of the word in its block, in words
  wire::PointerKind kind;
};

// Pointer from a word outside of blocks to a block.
struct RootPointer {
  uint32_t to;  // index into HeapScan::blocks
  wire::PointerKind kind;
  wire::RootKind root;
  ThreadId thread;   // 0: no thread
  uint64_t address;  // of the word; for a register its DWARF number
  // kStack and kAlternateStack: the frame that contains the word, built like an entry of Tables::codes (wire::CodeEntry); else 0.
  uint64_t frame_code;
  // kThreadLocal: index into Tables::modules of the variable's object, and the word's offset in that object's
  // thread-local segment; wire::kNoModule where it isn't known.
  uint32_t module = wire::kNoModule;
  uint64_t module_offset = 0;

  // A global variable's word with a block's start: several are kept for one block.
  [[nodiscard]] bool is_global_start() const {
    return root == wire::RootKind::kGlobal && kind == wire::PointerKind::kStart;
  }
};

// Words of global variables that a scan keeps of those with one block's start.
inline constexpr size_t kMaxGlobalStarts = 4;

// Liveness of a scanned block, where not all releases were seen.
enum class BlockLife : uint8_t {
  kAlive = 0,    // all releases were seen, or the allocator has it in use
  kUnknown = 1,  // its release may have been missed
  kFree = 2,     // the allocator has its memory free, or in use as another block
};
inline constexpr unsigned kBlockLifeCount = 3;

// kExitBegins: exit was called, or main returned; destructors and exit handlers were still to run.
enum class ScanReason : uint8_t { kEnd = 0, kAsked = 1, kExitBegins = 2 };

struct HeapScan {
  uint32_t number = 1;  // counts a trace's scans
  ScanReason reason = ScanReason::kEnd;
  uint64_t time_ns = 0;        // since the start of the capture
  uint64_t events_before = 0;  // number of events of the trace before it
  uint64_t stopped_ns = 0;     // how long the target was stopped
  uint64_t total_ns = 0;
  uint64_t read_bytes = 0;
  uint64_t skipped_bytes = 0;        // writable memory that was never touched, or is unmodified from its file
  uint32_t threads = 0;              // number of stopped threads
  std::vector<ScannedBlock> blocks;  // all live blocks, ascending by address
  std::vector<BlockLife> lives;      // of the blocks; empty: all are alive
  // Pointers of block i: pointers[pointers_begin[i]] to pointers[pointers_begin[i + 1]], ascending by offset. One block's
  // pointers to another of one kind are kept once, the first; those to itself are left out.
  std::vector<uint32_t> pointers_begin;
  std::vector<BlockPointer> pointers;
  // For each block, kind of root and kind of pointer the first. Of global variables' words with a block's start, which may be
  // of several variables, up to kMaxGlobalStarts: the first ones, and the last.
  std::vector<RootPointer> roots;
  std::vector<Note> notes;                       // what couldn't be scanned
  std::optional<ResidentRegions> resident = {};  // none: unknown
};

}  // namespace heaptap::model
