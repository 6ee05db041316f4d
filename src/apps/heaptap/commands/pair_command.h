// `heaptap pair`: this host's key and known keys of other machines, for mutual authentication.
#pragma once
#include <string>
#include <vector>

namespace heaptap::app {

struct PairOptions {
  // Empty: show the command to run on the target. ADDRESS KEY [NAME]: remember that target, also by its name. KEY [NAME]: allow that host
  // to connect here, as to `heaptap symbols serve`.
  std::vector<std::string> words;
};

// Returns heaptap's exit status.
int perform(const PairOptions& options);

}  // namespace heaptap::app
