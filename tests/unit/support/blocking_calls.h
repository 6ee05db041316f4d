// System calls that wait, each with what ends the wait and what it then gives: for tests of what may not disturb them.
#pragma once
#include <sys/types.h>

#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>

#include "child_process.h"

namespace heaptap::test {

struct Outcome {
  long value;
  int error;
  bool operator==(const Outcome&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Outcome& outcome);

// What both sides of a call have, made before the fork.
struct Stage {
  Stage();
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  int pipe[2];
  int pair[2];
  int* shared;  // memory of both
  std::string path;
  pid_t child = 0;
};

struct BlockingCall {
  const char* name;
  long number;
  std::function<long(Stage&)> call;  // in the child
  std::function<void(Stage&)> wake;  // in the test; none: the call ends by its timeout
  Outcome expected;
};

std::span<const BlockingCall> calls_for_descriptors();
std::span<const BlockingCall> calls_of_sockets();
std::span<const BlockingCall> other_calls();

// How long the calls wait that have a limit. For those that start from now on.
void set_time_limit(int milliseconds);

// A child that is, or comes to be, in the call.
class WaitingProcess {
 public:
  explicit WaitingProcess(const BlockingCall& blocking);
  ~WaitingProcess();
  WaitingProcess(const WaitingProcess&) = delete;
  WaitingProcess& operator=(const WaitingProcess&) = delete;

  [[nodiscard]] pid_t id() const { return child_->id(); }
  [[nodiscard]] const BlockingCall& blocking() const { return blocking_; }
  // False: the call has ended.
  [[nodiscard]] bool wait_until_blocked() const { return test::wait_until_blocked(id(), blocking_.number); }
  // Wakes it, where it has to be woken; what the call gave.
  Outcome end();

 private:
  const BlockingCall& blocking_;
  Stage stage_;
  std::unique_ptr<ChildProcess> child_;
};

}  // namespace heaptap::test
