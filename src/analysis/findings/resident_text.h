// Text about resident memory.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/fragmentation.h"
#include "analysis/report/report.h"
#include "analysis/report/resident.h"

namespace heaptap::findings {

// "38.5 MiB anonymous, 1.4 MiB of files, about 40.0 KiB heaptap's log"; empty: unknown.
std::string resident_parts(const report::Resident& resident);

struct ResidentPart {
  const char* kind;  // "live", "free": the same in each text
  const char* name;  // "free inside the allocator"
  uint64_t bytes;
  uint64_t tenths = 0;  // of the unit that the whole has in text
};

// The parts of at least 0.1 in that unit, and live blocks. What is less is in "other", and the numbers add up to the
// whole. Empty: nothing is resident.
std::vector<ResidentPart> rounded_parts(const report::ResidentParts& parts);

// "0.6 live, 20.1 free inside the allocator, 1.2 files, 0.3 heaptap": the same as text.
std::string resident_parts(const report::ResidentParts& parts);

// "the end", "scan 2".
std::string moment_of(const report::ResidentParts& parts);

// "the peak, after 1.2 s"; "mark loaded, after 1.2 s"; "1.2 s"; "the end". `to`: as it was asked.
std::string moment_of(const report::MomentPages& pages, const std::string& to);

// "main arena", "arena 3", "mapped blocks": those that glibc mapped one by one.
std::string arena_name(const report::ArenaUse& arena);

// Why the parts are unknown although a leak scan was made, as a sentence.
std::string resident_unknown_text(const model::Capture& capture);

// For the end of a recording; empty where resident memory is unknown, small, or mostly explained by live memory:
// "40.0 MiB resident, 298.4 KiB live: 38.5 MiB anonymous, …".
std::string resident_line(const report::Totals& totals);

// Whether most of the memory that is resident at the end is free inside the allocator, and that is known.
bool free_memory_leads(const report::Totals& totals);

// Cause of most of the free memory that is resident: whole pages, or the blocks of one stack on pages with others.
struct FreeMemory {
  std::string text;  // "263.0 MiB of it kept resident by 66,667 blocks", "6.1 MiB of it in whole pages"
  const report::StackKeep* stack = nullptr;  // of those blocks
};
// Empty: free memory doesn't lead, or no cause explains a quarter of it. Needs the report's fragmentation.
std::optional<FreeMemory> free_memory_of(const report::Report& report);

}  // namespace heaptap::findings
