// What is known of services on the links, by what was said of them: as long as they said that it holds, and not more than that.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "discovery/dns_message.h"
#include "discovery/link.h"
#include "discovery/service.h"

namespace heaptap::discovery {

inline constexpr size_t kMaxFoundServices = 1000;
// Nobody has to be who he says he is: one who makes services up has no more room than this, and where all of it is taken, whoever
// said most gives way to whoever said less.
inline constexpr size_t kMaxServicesOfSender = 32;

struct FoundAddress {
  IpAddress address;
  std::string interface;  // of this machine, behind which it is
  friend bool operator==(const FoundAddress&, const FoundAddress&) = default;
};

// All words are those of the network: anything may be in them.
struct FoundService {
  std::string name;
  std::string host;
  uint16_t port = 0;
  std::vector<FoundAddress> addresses;  // the best first; none: not known (yet)
  std::string text;                     // the data of its TXT record, see text_value()
  friend bool operator==(const FoundService&, const FoundService&) = default;
};

class FoundServices {
 public:
  explicit FoundServices(ServiceKind kind = ServiceKind::kTarget) : type_(service_type(kind)) {}

  // What somebody on that link answered.
  void take(const Message& response, unsigned link, const IpAddress& sender, uint64_t now_ns);
  // Forgets what holds no longer, and what links that are gone have told.
  void forget(const std::vector<Link>& links, uint64_t now_ns);

  // Those of which it is known where they are; one that is behind several links stands there once.
  [[nodiscard]] std::vector<FoundService> list(const std::vector<Link>& links) const;
  // Some may be missing.
  [[nodiscard]] bool is_full() const { return has_refused_; }

  // What needn't be told again on that link.
  [[nodiscard]] std::vector<Record> known_instances(unsigned link, uint64_t now_ns) const;
  // What is to be asked for now, since nobody said it or it won't hold much longer. Asks for the same less and less often.
  std::vector<Question> missing(unsigned link, uint64_t now_ns);
  // When that is next, or something holds no longer; or kNever.
  [[nodiscard]] uint64_t next_deadline(uint64_t now_ns) const;

 private:
  // How long something holds.
  struct Life {
    uint64_t end_ns = 0;
    uint64_t whole_ns = 0;

    static Life of(const Record& record, uint64_t now_ns);
    [[nodiscard]] bool is_over(uint64_t now_ns) const { return end_ns <= now_ns; }
    // From here on it is asked for again.
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
  using Key = std::pair<unsigned, std::string>;  // a link, and a folded name
  struct Instance {
    Name name;
    IpAddress sender;           // who told of it first
    uint64_t place_in_row = 0;  // of all that were told of
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
  // The moment from which something of it has to be asked for.
  [[nodiscard]] uint64_t renewal_of(unsigned link, const Instance& instance) const;
  [[nodiscard]] std::vector<Question> questions_of(unsigned link, const Instance& instance, uint64_t now_ns) const;
  [[nodiscard]] const std::vector<HeldAddress>* addresses_of(unsigned link, const Place& place) const;

  Name type_;
  std::map<Key, Instance> instances_;
  uint64_t told_ = 0;
  bool has_refused_ = false;
  std::map<Key, std::vector<HeldAddress>> hosts_;  // those where instances are
};

}  // namespace heaptap::discovery
