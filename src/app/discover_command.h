// `heaptap discover`: machines of the local network that heaptap-target announces itself on.
#pragma once
#include <cstdint>
#include <optional>

namespace heaptap::app {

struct DiscoverOptions {
  std::optional<uint64_t> wait_ns;  // none: 2 s, or with `watch` without an end
  bool once = false;                // which is the default
  bool watch = false;               // tell what comes, changes and goes
  bool json = false;
};

// Returns heaptap's exit status: 0 where something was found, else 1.
int perform(const DiscoverOptions& options);

}  // namespace heaptap::app
