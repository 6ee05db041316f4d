// Calls that don't come back: who made them goes on.
#include "common/base/bounded_calls.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "common/base/wait_status.h"

namespace heaptap::base {
namespace {

TEST(BoundedCalls, AreGivenUpAndMadeAnewWhenTheyCameBack) {
  using Outcome = BoundedCalls::Outcome;
  BoundedCalls calls(std::chrono::milliseconds(1));
  const auto released = std::make_shared<std::atomic<bool>>(false);
  const auto wait = [released] {
    released->wait(false);
    return true;
  };
  for (int i = 0; i < 10; ++i) EXPECT_EQ(calls.run(wait), Outcome::kGivenUp);
  *released = true;
  released->notify_all();
  while (calls.run([] { return true; }) != Outcome::kTrue) std::this_thread::yield();
}

TEST(BoundedCalls, TellWhileTheyAreLate) {
  BoundedCalls patient(std::chrono::minutes(10));
  BoundedCalls calls(std::chrono::milliseconds(1));
  const auto released = std::make_shared<std::atomic<bool>>(false);
  const auto wait = [released] {
    released->wait(false);
    return true;
  };
  int told = 0;
  EXPECT_EQ(patient.run([] { return true; }, [&told] { ++told; }), BoundedCalls::Outcome::kTrue);
  EXPECT_EQ(told, 0);
  EXPECT_EQ(calls.run(wait, [&told] { ++told; }), BoundedCalls::Outcome::kGivenUp);
  EXPECT_EQ(told, 1);
  *released = true;
  released->notify_all();
}

TEST(BoundedCalls, AreMadeInAForkedChildAsWell) {
  BoundedCalls calls(std::chrono::minutes(10));
  EXPECT_EQ(calls.run([] { return true; }), BoundedCalls::Outcome::kTrue);
  const pid_t child = fork();
  if (child == 0) {
    alarm(120);
    _exit(calls.run([] { return true; }) == BoundedCalls::Outcome::kTrue ? 0 : 1);
  }
  EXPECT_EQ(wait_for(child), WaitStatus());
  EXPECT_EQ(calls.run([] { return true; }), BoundedCalls::Outcome::kTrue);
}

}  // namespace
}  // namespace heaptap::base
