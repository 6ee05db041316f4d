// Announcer's own records on a link, in parts: each part is queried, known and sent as a unit.
#pragma once
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/discovery/service.h"
#include "common/network/dns_message.h"
#include "common/network/link.h"

namespace heaptap::discovery {

enum class Part : uint8_t {
  kType,      // the service type exists: PTR
  kInstance,  // this instance exists: PTR
  kPlace,     // its host and port: SRV
  kText,      // TXT
  kIpv4,      // the host's addresses on the link: A
  kIpv6,      // AAAA
};
inline constexpr size_t kPartCount = 6;

class Parts {
 public:
  constexpr Parts() = default;
  constexpr Parts(std::initializer_list<Part> parts) {
    for (const Part part : parts) bits_ = static_cast<uint8_t>(bits_ | bit(part));
  }
  static constexpr Parts all() { return Parts(uint8_t{(1U << kPartCount) - 1}); }

  [[nodiscard]] constexpr bool has(Part part) const { return (bits_ & bit(part)) != 0; }
  [[nodiscard]] constexpr bool has_any(Parts other) const { return (bits_ & other.bits_) != 0; }
  [[nodiscard]] constexpr bool is_empty() const { return bits_ == 0; }
  [[nodiscard]] constexpr Parts and_those(Parts other) const {
    return Parts(static_cast<uint8_t>(bits_ | other.bits_));
  }
  [[nodiscard]] constexpr Parts without(Parts other) const { return Parts(static_cast<uint8_t>(bits_ & ~other.bits_)); }

 private:
  constexpr explicit Parts(uint8_t bits) : bits_(bits) {}
  static constexpr uint8_t bit(Part part) { return static_cast<uint8_t>(1U << static_cast<unsigned>(part)); }

  uint8_t bits_ = 0;
};

template <typename Use>
void for_each_part(Parts parts, Use&& use) {
  for (size_t part = 0; part < kPartCount; ++part) {
    if (parts.has(static_cast<Part>(part))) use(static_cast<Part>(part));
  }
}

// Parts that others may have with the same name and type.
inline constexpr Parts kSharedParts{Part::kType, Part::kInstance};
// RFC 6762, 10: TTLs of records that depend on the host, and of the others.
inline constexpr uint32_t kHostTtlS = 120;
inline constexpr uint32_t kSharedTtlS = 4500;
constexpr uint32_t ttl_of(Part part) { return kSharedParts.has(part) ? kSharedTtlS : kHostTtlS; }

class OwnRecords {
 public:
  // `host`: the machine's name.
  OwnRecords(Service service, std::string_view host);

  [[nodiscard]] const Service& service() const { return service_; }
  void set_program(std::string_view program) { service_.program = program; }
  // "board", "board (2)", …
  [[nodiscard]] std::string instance_label() const;
  [[nodiscard]] const Name& instance() const { return instance_; }
  [[nodiscard]] const Name& host() const { return host_; }
  // Whether this is a past or future name of this host.
  [[nodiscard]] bool is_name_of_host(const Name& host) const;
  // After a conflict: takes a name with a number higher by `step`.
  void take_next_instance(unsigned step);
  void take_next_host(unsigned step);
  // Whether the service is reachable on a link: otherwise nothing is sent there.
  [[nodiscard]] bool is_reached_on(const Link& link) const { return service_.reach.covers_some(link); }

  [[nodiscard]] std::vector<Record> of(Part part, const Link& link) const;
  [[nodiscard]] std::vector<Record> of(Parts parts, const Link& link) const;
  // Parts that answer a question.
  [[nodiscard]] Parts answers_to(const Question& question) const;
  // Parts that the querier still has, for at least half of their TTL (RFC 6762, 7.1).
  [[nodiscard]] Parts known_among(const std::vector<Record>& known, const Link& link) const;

 private:
  void make_names();

  Service service_;
  std::string host_label_;
  unsigned instance_number_ = 1;
  unsigned host_number_ = 1;
  Name instance_;
  Name host_;
};

// Additional parts sent with answers, as they will be queried next.
Parts additions_to(Parts answers);

}  // namespace heaptap::discovery
