// Data missing from a trace that has totals in place of events, or samples of them. Where a flag is set, the figures of that name are meaningless.
#pragma once

namespace heaptap::ledger {

// Missing data of the whole process.
struct MissingData {
  bool events =
      false;          // nothing that needs single events: times, lifetimes, the timeline, what a stack held at the peak
  bool live = false;  // releases and live blocks
  bool peak = false;  // of live bytes and blocks
  bool temporary = false;     // allocations
  bool bad_releases = false;  // double and bad releases, apart from other releases
  bool sizes = false;         // of live blocks
};

// Missing data of one site.
struct SiteMissingData {
  bool live = false;
  bool threads = false;
};

}  // namespace heaptap::ledger
