// What isn't known where a trace has totals in place of events: then the numbers of that name mean nothing.
#pragma once

namespace heaptap::ledger {

// Of the whole process.
struct MissingData {
  bool events =
      false;          // nothing that needs single events: times, lifetimes, the timeline, what a stack held at the peak
  bool live = false;  // releases, and what is alive
  bool peak = false;  // of live bytes and blocks
  bool temporary = false;     // allocations
  bool bad_releases = false;  // which were double, and which bad
  bool sizes = false;         // of blocks that are alive
};

// Of one site.
struct SiteMissingData {
  bool live = false;
  bool threads = false;
};

}  // namespace heaptap::ledger
