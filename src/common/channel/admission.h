// Admission control of incoming connections: decides who is served next and who is dropped, so that a flood of
// strangers costs little and doesn't exclude legitimate peers. No peer is dropped for the actions of others:
//
//   waiting   at most 64; beyond that, a random one of the network with the highest debt is dropped
//   greeting  at most 16; if all places are taken by networks with a higher debt than a waiting one, or for
//             more than 2 s, one of these is dropped
//   rate      20 served at once, then 10 each second: bounds the processor time
//
// The debt of a network (an IPv4 address, an IPv6 /64, a user of a UNIX socket) is its number of attempts that haven't
// succeeded; each expires after 2 s. A network with a success within the last hour goes first, as long as its debt is below 5.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace heaptap::channel {

class Admission {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Id = uint64_t;  // of a connection

  static constexpr size_t kMaxWaiting = 64;
  static constexpr size_t kMaxHeard = 16;

  // `seed`: for random choices.
  explicit Admission(uint32_t seed) : random_(seed) {}

  // A connection arrived and waits. Returns the one that is dropped for it, possibly the same.
  std::optional<Id> add(Id id, const std::string& network, Time now);
  // The next connection to serve, and the one that is dropped for it, if any.
  struct Turn {
    Id heard;
    std::optional<Id> goes;
  };
  std::optional<Turn> next(Time now);
  // A served connection succeeded, or failed; a waiting one is gone.
  void succeeded(Id id, Time now);
  void left(Id id);
  // When next() may return one without further events; none: not before an event.
  [[nodiscard]] std::optional<Time> deadline() const;
  [[nodiscard]] size_t count() const { return guests_.size(); }

 private:
  struct Guest {
    Id id;
    std::string network;
    std::optional<Time> heard_since = {};
  };
  struct Network {
    std::string name;
    Time forgotten_at = {};  // end of its debt
    Time welcome_until = {};
  };

  Network& network(const std::string& name, Time now);
  // Debt in attempts; negative: goes first.
  [[nodiscard]] int debt(const std::string& name, Time now) const;
  // Random choice among waiting or served connections of the network with the lowest or highest debt.
  const Guest* choose(bool is_heard, bool has_least, Time now);
  [[nodiscard]] size_t heard_count() const;
  [[nodiscard]] const Guest* heard_for_long(Time now) const;

  std::vector<Guest> guests_;
  std::vector<Network> networks_;
  Time all_forgotten_at_{};
  std::minstd_rand random_;
};

}  // namespace heaptap::channel
