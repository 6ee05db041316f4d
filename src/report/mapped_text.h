// What is said of mapped memory: which of it is memory at all.
#pragma once
#include <string>
#include <vector>

#include "report/report.h"

namespace heaptap::report {

// Of what is mapped besides the program's own memory, where there is any: "64 GiB only reserved, 8.0 KiB of files". Empty: nothing.
std::string beside_memory(const model::MappedBytes& mapped);

// " (besides 64 GiB only reserved)", behind the bytes of a stack that maps.
std::string mapped_behind(const StackEntry& stack);

// The facts of a process: a name, an amount, what it is.
struct MappedFact {
  const char* name;
  std::string amount;
  std::string what;
};
std::vector<MappedFact> mapped_facts(const Totals& totals);

}  // namespace heaptap::report
