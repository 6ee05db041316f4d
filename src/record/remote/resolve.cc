#include "record/remote/resolve.h"

#include <netdb.h>

#include <cerrno>
#include <memory>

#include "common/channel/failure.h"

namespace heaptap::remote {

base::Result<std::vector<channel::Address>> resolve(const channel::Address& address) {
  if (!address.is_name()) return std::vector{address};
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* first = nullptr;
  const std::string port = std::to_string(address.port());
  const int error = getaddrinfo(address.text().c_str(), port.c_str(), &wanted, &first);
  if (error != 0) {
    const std::string reason = error == EAI_SYSTEM ? base::reason_of(errno) : gai_strerror(error);
    return channel::fail({"can't find the host '", address.text(), "': ", reason, "; check its name (`getent hosts ",
                          address.text(), "`), or give its IP address"});
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(first, freeaddrinfo);
  std::vector<channel::Address> found;
  for (const addrinfo* entry = first; entry != nullptr; entry = entry->ai_next) {
    if (const auto number = channel::Address::of_socket(entry->ai_addr)) found.push_back(*number);
  }
  if (found.empty())
    return channel::fail(
        {"the host '", address.text(), "' has no IPv4 or IPv6 address: check its name, or give an IP address"});
  return found;
}

}  // namespace heaptap::remote
