// How long heaptap's own processes wait: between two looks, and until something counts as gone. For users these are constants; tests that
// wait for one make it shorter with the environment variable HEAPTAP_TEST_INTERVALS (docs/tests.md). The agent has none of this: it
// doesn't read that variable, and programs that heaptap starts don't get it.
#pragma once
#include <chrono>
#include <optional>
#include <string_view>

namespace heaptap::base {

inline constexpr char kIntervalsVariable[] = "HEAPTAP_TEST_INTERVALS";

struct Intervals {
  using Time = std::chrono::milliseconds;

  Time write{1'000};      // what was recorded is in the trace by then: a recorder that is killed takes little with it
  Time heartbeat{2'000};  // on a line between machines, where nothing else is sent
  Time silence{10'000};   // of the other end of such a line, which counts as gone then
  Time retry{2'000};      // of a connection, at the most
  Time look{2'000};       // of a symbol server into its directories, at the least
  Time reach{10'000};     // for another machine, until it is told that it can't be reached
};

// "heartbeat=100ms,silence=500ms": the others are as usual. Nothing where a name is unknown or comes twice, a time isn't whole milliseconds
// from 5 to the usual ones, or `silence` isn't twice `heartbeat` at least.
std::optional<Intervals> parse_intervals(std::string_view text);

// Those of this process, read once. The usual ones where the variable makes no sense, and in a program that has more rights than who
// started it.
const Intervals& intervals();

}  // namespace heaptap::base
