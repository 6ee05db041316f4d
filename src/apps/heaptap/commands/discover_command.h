// `heaptap discover`: machines on the local network that announce heaptap-target.
#pragma once
#include <cstdint>
#include <optional>

namespace heaptap::app {

struct DiscoverOptions {
  std::optional<uint64_t> wait_ns;  // none: 2 s, or unlimited with `watch`
  bool once = false;                // the default
  bool watch = false;               // report services that appear, change and disappear
  bool json = false;
};

// Returns heaptap's exit status: 0 if something was found, else 1.
int perform(const DiscoverOptions& options);

}  // namespace heaptap::app
