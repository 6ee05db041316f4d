// Intervals and timeouts of heaptap's own processes. Constants for users; tests that wait for one shorten it with the
// environment variable HEAPTAP_TEST_INTERVALS (docs/tests.md). Not for the agent, which doesn't read that variable, nor
// for programs that heaptap starts, which don't get it.
#pragma once
#include <chrono>
#include <optional>
#include <string_view>

namespace heaptap::base {

inline constexpr char kIntervalsVariable[] = "HEAPTAP_TEST_INTERVALS";

struct Intervals {
  using Time = std::chrono::milliseconds;

  Time write{1'000};      // maximum delay until events are in the trace: a recorder that is killed loses little
  Time heartbeat{2'000};  // of an idle line between machines
  Time silence{10'000};   // of the other end of such a line, after which it counts as lost
  Time retry{2'000};      // of a connection, at most
  Time look{2'000};       // of a symbol server at its directories, at least
  Time reach{10'000};     // to connect to another machine, until it counts as unreachable
  Time remind{60'000};    // of what stays as it is, such as a connection that is down
  Time links{10'000};     // of an announced service at network interfaces that appear later
};

// Parses "heartbeat=100ms,silence=500ms"; the others keep their defaults. Empty where a name is unknown or occurs
// twice, a time isn't whole milliseconds from 5 to the default, or `silence` isn't at least twice `heartbeat`.
std::optional<Intervals> parse_intervals(std::string_view text);

// Intervals of this process, read once. The defaults where the variable is invalid, and in a program with more rights
// than the caller.
const Intervals& intervals();

}  // namespace heaptap::base
