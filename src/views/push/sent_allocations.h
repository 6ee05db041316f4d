// Allocations that a server has of a program. Servers add up the allocations that they get, so each profile has those since the one that
// they took before; what is live is the moment's.
#pragma once
#include <cstdint>
#include <map>
#include <utility>

#include "analysis/report/report.h"

namespace heaptap::push {

class SentAllocations {
 public:
  // Takes those that the server has from the stacks of a report with all of them.
  void subtract_from(report::Report& report);
  // The server has the last report's.
  void confirm() { sent_.swap(offered_); }

 private:
  struct Counts {
    uint64_t allocations = 0;
    uint64_t bytes = 0;
  };
  std::map<uint64_t, Counts> sent_;     // by the stack's id
  std::map<uint64_t, Counts> offered_;  // by the last report
};

}  // namespace heaptap::push
