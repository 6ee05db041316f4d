// Blocking system calls, each with the action that wakes it and its expected result: for tests that interrupt blocked processes.
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

// Resources shared by caller and waker, created before the fork.
struct Stage {
  Stage();
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  int pipe[2];
  int pair[2];
  int* shared;  // shared memory
  std::string path;
  pid_t child = 0;
};

struct BlockingCall {
  const char* name;
  long number;
  std::function<long(Stage&)> call;  // in the child
  std::function<void(Stage&)> wake;  // in the test; null: the call ends by its timeout
  Outcome expected;
};

std::span<const BlockingCall> calls_for_descriptors();
std::span<const BlockingCall> calls_of_sockets();
std::span<const BlockingCall> other_calls();

// Sets the timeout of calls that have one, for calls that start later.
void set_time_limit(int milliseconds);

// Child process that enters a blocking call.
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
  // Wakes the call if necessary; returns its result.
  Outcome end();

 private:
  const BlockingCall& blocking_;
  Stage stage_;
  std::unique_ptr<ChildProcess> child_;
};

}  // namespace heaptap::test
