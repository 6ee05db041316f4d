// `heaptap pair`: this host's key, and the keys of others that it knows, so that machines prove to each other who they are.
#pragma once
#include <string>
#include <vector>

namespace heaptap::app {

struct PairOptions {
  // Nothing: says what is typed on the target. ADDRESS KEY [NAME]: that target is known from now on, by its name as well. KEY [NAME]: that host may come here, as
  // to `heaptap symbols serve`.
  std::vector<std::string> words;
};

// Returns heaptap's exit status.
int perform(const PairOptions& options);

}  // namespace heaptap::app
