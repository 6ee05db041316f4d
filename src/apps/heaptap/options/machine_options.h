// Remote machine of programs and processes, for commands that support one.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace heaptap::app {

struct MachineOptions {
  std::string host;  // address of heaptap-target as given; empty: this machine
  std::string token_file;
  bool takes_over = false;  // take over an autonomous recording, or its file
  bool by_force = false;    // even from another host
  uint64_t process = 0;     // of several recorded ones; 0: the only one

  [[nodiscard]] bool is_here() const { return host.empty(); }
  // As command line options, for another heaptap.
  [[nodiscard]] std::vector<std::string> words() const;
};

}  // namespace heaptap::app
