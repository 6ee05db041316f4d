#include "apps/target/host_command.h"

#include "common/base/shell_word.h"
#include "common/network/link.h"
#include "common/network/reach.h"

namespace heaptap::target {
namespace {

using network::Family;
using network::IpAddress;

// As the host has to write it. Without a local network, as it is bound.
std::string reached_at(const channel::Address& address) {
  const auto bound = address.to_socket();
  if (!bound || address.is_file()) return address.to_text();
  const auto reach = network::Reach::of_socket(bound->storage);
  const IpAddress best = reach.best_of(network::links_of_machine(network::Where::kNetwork))
                             .value_or(network::Endpoint::of(bound->storage).address);
  return host_text(best) + ":" + std::to_string(address.port());
}

}  // namespace

// A link-local address needs the name of the host's interface, which is unknown here.
std::string host_text(const IpAddress& address) {
  if (address.family == Family::kIpv4) return address.text();
  return "[" + address.text() + (address.is_link_local() ? "%INTERFACE" : "") + "]";
}

std::string command_on_host(const channel::Address& address, bool has_token, bool takes_over) {
  const std::string place = base::shell_word(reached_at(address));
  const char* const security = has_token ? " --token-file FILE" : "";
  return takes_over ? "heaptap connect " + place + security : "heaptap run -H " + place + security + " -- PROGRAM";
}

}  // namespace heaptap::target
