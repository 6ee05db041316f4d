// Another machine, where programs and processes are, of commands that can be about one.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace heaptap::app {

struct MachineOptions {
  std::string host;  // where heaptap-target is, as the user names it; empty: this machine
  std::string token_file;
  bool takes_over = false;  // it records already, by itself; or is a file with what was recorded
  bool by_force = false;    // also for another host
  uint64_t process = 0;     // which of several that it records; 0: the only one

  [[nodiscard]] bool is_here() const { return host.empty(); }
  // The same as options, for another heaptap.
  [[nodiscard]] std::vector<std::string> words() const;
};

}  // namespace heaptap::app
