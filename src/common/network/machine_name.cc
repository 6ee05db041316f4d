#include "common/network/machine_name.h"

#include <unistd.h>

#include <array>

namespace heaptap::network {

std::string machine_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string display_name(std::string_view machine) {
  const std::string_view name = machine.substr(0, machine.find('.'));
  return std::string(name.empty() ? "heaptap" : name);
}

}  // namespace heaptap::network
