// Cache of services found on the links, from received records: each kept for its TTL at most.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/discovery/service.h"
#include "common/network/dns_message.h"
#include "common/network/link.h"

namespace heaptap::discovery {

inline constexpr size_t kMaxFoundServices = 1000;
// Senders are not authenticated: the number of fake services from one sender is limited, and when the cache is full,
// the sender with the most entries gives way to senders with fewer.
inline constexpr size_t kMaxServicesOfSender = 32;

struct FoundAddress {
  IpAddress address;
  std::string interface;  // of this machine, towards the address
  friend bool operator==(const FoundAddress&, const FoundAddress&) = default;
};

// All texts come from the network and are not trusted.
struct FoundService {
  std::string name;
  std::string host;
  uint16_t port = 0;
  std::vector<FoundAddress> addresses;  // best first; none: unknown (so far)
  std::string text;                     // data of its TXT record, see text_value()
  friend bool operator==(const FoundService&, const FoundService&) = default;
};

class FoundServices {
 public:
  explicit FoundServices(ServiceKind kind = ServiceKind::kTarget) : type_(service_type(kind)) {}

  // Adds a response received on that link.
  void take(const Message& response, unsigned link, const IpAddress& sender, uint64_t now_ns);
  // Removes expired entries, and those of links that are gone.
  void forget(const std::vector<Link>& links, uint64_t now_ns);

  // Services with a known location; one that is reachable over several links is listed once.
  [[nodiscard]] std::vector<FoundService> list(const std::vector<Link>& links) const;
  // Whether some may be missing.
  [[nodiscard]] bool is_full() const { return has_refused_; }

  // Known answers: records that needn't be sent again on that link.
  [[nodiscard]] std::vector<Record> known_instances(unsigned link, uint64_t now_ns) const;
  // Questions to send now, for records that are missing or about to expire. Repeats the same ones at growing intervals.
  std::vector<Question> missing(unsigned link, uint64_t now_ns);
  // Time of the next question or expiry; or kNever.
  [[nodiscard]] uint64_t next_deadline(uint64_t now_ns) const;

 private:
  // Lifetime of a record.
  struct Life {
    uint64_t end_ns = 0;
    uint64_t whole_ns = 0;

    static Life of(const Record& record, uint64_t now_ns);
    [[nodiscard]] bool is_over(uint64_t now_ns) const { return end_ns <= now_ns; }
    // Time of its renewal question.
    [[nodiscard]] uint64_t renewal_ns() const { return end_ns - whole_ns / 5; }
    [[nodiscard]] bool is_new(uint64_t now_ns) const { return end_ns > now_ns + whole_ns / 2; }
  };
  template <typename Fact>
  struct Held {
    Fact fact;
    Life life;
  };
  struct HeldAddress {
    IpAddress address;
    Life life;
    uint64_t told_ns = 0;
  };
  using Key = std::pair<unsigned, std::string>;  // a link, and a canonical name
  struct Instance {
    Name name;
    IpAddress sender;           // first sender
    uint64_t place_in_row = 0;  // in order of discovery
    Life life;
    std::optional<Held<Place>> place;
    std::optional<Held<std::string>> text;
    uint64_t next_question_ns = 0;
    uint64_t question_pause_ns = 0;
  };

  void take_instance(const Record& record, unsigned link, const IpAddress& sender, uint64_t now_ns);
  // Whether there is room for one more of that sender.
  bool make_room(unsigned link, const IpAddress& sender);
  void take_facts(const Record& record, unsigned link, uint64_t now_ns);
  void take_address(const Record& record, unsigned link, uint64_t now_ns);
  void forget_hosts();
  // Earliest renewal of its records.
  [[nodiscard]] uint64_t renewal_of(unsigned link, const Instance& instance) const;
  [[nodiscard]] std::vector<Question> questions_of(unsigned link, const Instance& instance, uint64_t now_ns) const;
  [[nodiscard]] const std::vector<HeldAddress>* addresses_of(unsigned link, const Place& place) const;

  Name type_;
  std::map<Key, Instance> instances_;
  uint64_t told_ = 0;
  bool has_refused_ = false;
  std::map<Key, std::vector<HeldAddress>> hosts_;  // hosts of instances
};

}  // namespace heaptap::discovery
