// `heaptap discover`: machines on the local network that announce heaptap-target. A build without it says so.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace heaptap::app {

struct DiscoverOptions {
  std::optional<uint64_t> wait_ns;  // none: 2 s, or unlimited with `watch`
  bool once = false;                // the default
  bool watch = false;               // report services that appear, change and disappear
  bool json = false;
};

// Returns heaptap's exit status: 0 if something was found, else 1.
int perform(const DiscoverOptions& options);

// Its line in `heaptap help`; empty: this build has no such command.
std::string_view discover_help();

}  // namespace heaptap::app
