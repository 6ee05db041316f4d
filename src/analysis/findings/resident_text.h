// Text about resident memory.
#pragma once
#include <cstdint>
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

}  // namespace heaptap::findings
