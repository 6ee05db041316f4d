// Resident memory of a stopped process by region: the kernel tells which pages are there, and the leak scan's knowledge
// of the process tells what they are.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "capture/process/page_map.h"
#include "capture/process/page_states.h"
#include "capture/process/program_memory.h"
#include "common/base/address_range.h"
#include "common/model/heap_scan.h"
#include "common/model/note.h"
#include "common/model/resident_regions.h"

namespace heaptap::scan {

// Parts of the memory, as find_roots learns of them.
struct MemoryLayout {
  std::vector<base::AddressRange> globals;          // writable data of modules, without the agent
  std::vector<base::AddressRange> heaptap;          // of the agent: its library's data
  std::vector<base::AddressRange> stacks;           // of threads, with their thread-local variables
  std::vector<base::AddressRange> ended_stacks;     // of threads that have ended
  std::vector<base::AddressRange> unjoined_stacks;  // of these: the C library keeps them until pthread_join
  std::vector<base::AddressRange> heap_parts;       // of the brk heap, if others than the allocator have memory in it
  uint64_t main_heap_end = 0;                       // of glibc's brk heap; 0: unknown, or it has none
  bool musl = false;
};

struct RegionQuery {
  const MemoryLayout& layout;
  std::span<const model::ScannedBlock> blocks;  // ascending by address
  std::span<const base::AddressRange> mapped;   // by the program's own mmap calls
  std::span<const base::AddressRange> own;      // of the agent
};

// The process's memory, divided; resident bytes are 0 yet. Ascending, disjoint, in whole pages.
std::vector<model::Region> find_regions(process::ProgramMemory& memory, const RegionQuery& query);

// Threads that ended and weren't joined, with their stacks' memory. None: there are none.
std::optional<model::Note> note_of_unjoined(const MemoryLayout& layout,
                                            const std::optional<model::ResidentRegions>& resident);

// None: unknown to the kernel (before 6.7), it took longer than until `deadline_ns` (monotonic), or there are too many.
std::optional<model::ResidentRegions> measure_resident(std::vector<model::Region> regions,
                                                       const process::PageMap& pages, uint64_t deadline_ns);
// By the states of its pages when it was stopped. None: there are too many.
std::optional<model::ResidentRegions> measure_resident(std::vector<model::Region> regions,
                                                       const process::PageStates& states);

}  // namespace heaptap::scan
