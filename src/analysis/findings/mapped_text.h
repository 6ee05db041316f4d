// Text about mapped memory, by kind.
#pragma once
#include <string>
#include <vector>

#include "analysis/report/report.h"

namespace heaptap::findings {

// Mapped bytes besides the program's own memory: "64 GiB only reserved, 8.0 KiB of files". Empty: none.
std::string beside_memory(const model::MappedBytes& mapped);

// Live bytes of each kind.
model::MappedBytes bytes_of(const model::MappedLevels& mapped);

// Suffix after the bytes of a stack that maps: " (besides 64 GiB only reserved)".
std::string mapped_behind(const report::StackEntry& stack);

// Fact about a process's mappings: name, amount, explanation.
struct MappedFact {
  const char* name;
  std::string amount;
  std::string what;
};
std::vector<MappedFact> mapped_facts(const report::Totals& totals);

}  // namespace heaptap::findings
