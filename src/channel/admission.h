// Who is heard next of those that came, and who makes room, so that a flood of strangers costs little and doesn't keep out the right
// ones. Nobody is sent away for what others did:
//
//   those that wait        at most 64; one more than that, and one of the network that has the most to answer for goes, by chance
//   those that are heard   at most 16; where all places are taken by networks that have more to answer for than one that waits,
//                          or for more than 2 s, one of these goes
//   in all                 20 heard at once, then 10 each second: what that costs a processor is bounded
//
// A network (an IPv4 address, an IPv6 /64, a user of a UNIX socket) answers for its attempts that haven't succeeded: each is
// forgotten after 2 s. One of which somebody got in within an hour comes first, as long as that are fewer than 5.
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
  using Id = uint64_t;  // of one that came

  static constexpr size_t kMaxWaiting = 64;
  static constexpr size_t kMaxHeard = 16;

  // `seed`: of what is chosen by chance.
  explicit Admission(uint32_t seed) : chance_(seed) {}

  // One came, and waits. Gives the one that goes for it: it may be the same.
  std::optional<Id> add(Id id, const std::string& network, Time now);
  // The one that is heard from now on, and the one that goes for it, if one does.
  struct Turn {
    Id heard;
    std::optional<Id> goes;
  };
  std::optional<Turn> next(Time now);
  // One that was heard got in, or failed; one that waited is gone.
  void succeeded(Id id, Time now);
  void left(Id id);
  // When next() may give one, though nothing happens; none: not before something does.
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
    Time forgotten_at = {};  // what it has to answer for
    Time welcome_until = {};
  };

  Network& network(const std::string& name, Time now);
  // What it has to answer for, in attempts; less than nothing: it comes first.
  [[nodiscard]] int debt(const std::string& name, Time now) const;
  // Of those that wait, or that are heard: by chance among those whose network has the least or the most to answer for.
  const Guest* choose(bool is_heard, bool has_least, Time now);
  [[nodiscard]] size_t heard_count() const;
  [[nodiscard]] const Guest* heard_for_long(Time now) const;

  std::vector<Guest> guests_;
  std::vector<Network> networks_;
  Time all_forgotten_at_{};
  std::minstd_rand chance_;
};

}  // namespace heaptap::channel
