// Host name resolution for this static program, which has no name service: in /etc/hosts, and through the name servers
// of /etc/resolv.conf; .local names by multicast DNS.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "capture/uplink/address_finder.h"
#include "common/base/unique_fd.h"
#include "common/network/dns_name.h"

namespace heaptap::target {

class HostByName : public uplink::AddressFinder {
 public:
  struct Files {
    std::string hosts = "/etc/hosts";
    std::string servers = "/etc/resolv.conf";
    uint16_t server_port = 53;
  };
  HostByName(std::string name, uint16_t port, Files files);
  HostByName(std::string name, uint16_t port) : HostByName(std::move(name), port, Files()) {}

  void begin(line::TimePoint now) override;
  void add_waits(std::vector<pollfd>& waits) const override;
  std::optional<base::Result<std::vector<channel::Address>>> proceed(line::TimePoint now) override;

 private:
  [[nodiscard]] std::vector<channel::Address> in_hosts() const;
  void read_servers();
  void ask(line::TimePoint now);
  void hear(base::UniqueFd& socket, line::TimePoint now);
  [[nodiscard]] base::Error not_found() const;

  std::string name_;
  uint16_t port_;
  Files files_;
  std::vector<std::string> servers_;
  std::deque<std::string> names_;  // to be queried; the first one is pending
  std::vector<base::UniqueFd> sockets_;
  uint16_t question_ = 0;
  size_t answers_left_ = 0;
  bool was_answered_ = false;
  line::TimePoint until_;
  std::vector<channel::Address> found_;
};

}  // namespace heaptap::target
