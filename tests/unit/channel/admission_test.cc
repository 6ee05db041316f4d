// Who comes in while others try: nobody is kept out by what others do, and what they cost is bounded.
#include "common/channel/admission.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>

namespace heaptap::channel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const Admission::Time kStart{std::chrono::hours(1)};

TEST(Admission, HearsWhoComesAlone) {
  Admission admission(1);
  EXPECT_FALSE(admission.next(kStart).has_value());
  EXPECT_FALSE(admission.add(7, "a", kStart).has_value());
  const auto turn = admission.next(kStart);
  ASSERT_TRUE(turn.has_value());
  EXPECT_EQ(turn->heard, 7u);
  EXPECT_FALSE(turn->goes.has_value());
  admission.left(7);
  EXPECT_EQ(admission.count(), 0u);
}

TEST(Admission, HearsTwentyAtOnceThenTenASecond) {
  Admission admission(1);
  Admission::Id id = 0;
  const auto heard_at = [&](Admission::Time now) {
    int heard = 0;
    for (int i = 0; i < 40; ++i) (void)admission.add(++id, "a", now);
    while (const auto turn = admission.next(now)) {
      admission.left(turn->heard);
      ++heard;
    }
    return heard;
  };
  EXPECT_EQ(heard_at(kStart), 20);
  EXPECT_EQ(heard_at(kStart + milliseconds(99)), 0);
  ASSERT_TRUE(admission.deadline().has_value());
  EXPECT_EQ(*admission.deadline(), kStart + milliseconds(100));
  EXPECT_EQ(heard_at(kStart + milliseconds(100)), 1);
  EXPECT_EQ(heard_at(kStart + seconds(10)), 20);
}

TEST(Admission, OfManyThatWaitOneOfTheNetworkWithTheMostGoes) {
  Admission admission(1);
  for (Admission::Id id = 0; id < Admission::kMaxWaiting - 1; ++id) EXPECT_FALSE(admission.add(id, "flood", kStart));
  EXPECT_FALSE(admission.add(1'000, "right", kStart));
  for (Admission::Id id = 2'000; id < 3'000; ++id) {
    const auto goes = admission.add(id, "flood", kStart);
    ASSERT_TRUE(goes.has_value());
    EXPECT_NE(*goes, 1'000u);
    EXPECT_EQ(admission.count(), Admission::kMaxWaiting);
  }
}

// Strangers from several networks that say nothing, 200 each second; a right host that comes now and then is heard at once.
TEST(Admission, AFloodKeepsNobodyOut) {
  for (const int networks : {1, 4, 20}) {
    for (const bool is_silent : {true, false}) {
      Admission admission(7);
      Admission::Id id = 0;
      std::deque<std::pair<Admission::Id, Admission::Time>> silent;
      int heard = 0;
      for (int step = 0; step < 20'000; ++step) {
        const Admission::Time now = kStart + milliseconds(5 * step);
        (void)admission.add(++id, "flood " + std::to_string(step % networks), now);
        std::optional<Admission::Id> right;
        const bool is_new_host = step % 4'000 == 3'999;
        if (is_new_host) {
          right = ++id;
          EXPECT_NE(admission.add(*right, "right " + std::to_string(step), now), right);
        }
        bool is_heard = false;
        const auto end = now + (is_new_host ? seconds(1) : seconds(0));
        for (auto at = now; at <= end; at += milliseconds(100)) {
          while (const auto turn = admission.next(at)) {
            is_heard = is_heard || turn->heard == right;
            if (!is_silent && turn->heard != right) admission.left(turn->heard);
          }
        }
        if (is_heard) admission.succeeded(*right, now);
        heard += is_heard ? 1 : 0;
      }
      EXPECT_EQ(heard, 5) << networks << is_silent;
    }
  }
}

TEST(Admission, OneOfWhoseNetworkSomebodyGotInComesFirst) {
  Admission admission(1);
  (void)admission.add(1, "host", kStart);
  ASSERT_TRUE(admission.next(kStart));
  admission.succeeded(1, kStart);
  // All that may be heard at once is used up by others.
  for (Admission::Id id = 10; id < 60; ++id) (void)admission.add(id, std::to_string(id), kStart);
  while (admission.next(kStart)) {
  }
  (void)admission.add(2, "host", kStart);
  const auto turn = admission.next(kStart);
  ASSERT_TRUE(turn.has_value());
  EXPECT_EQ(turn->heard, 2u);
}

// Of the same address as a host that got in, a flood has no more than any other one.
TEST(Admission, AFloodFromTheRightHostsAddressIsBounded) {
  Admission admission(1);
  (void)admission.add(1, "host", kStart);
  ASSERT_TRUE(admission.next(kStart));
  admission.succeeded(1, kStart);
  int heard = 0;
  for (Admission::Id id = 10; id < 1'010; ++id) {
    (void)admission.add(id, "host", kStart);
    while (const auto turn = admission.next(kStart)) {
      admission.left(turn->heard);
      ++heard;
    }
  }
  EXPECT_LE(heard, 25);
}

TEST(Admission, TakesThePlaceOfOneThatIsHeardForLong) {
  Admission admission(1);
  for (Admission::Id id = 0; id < Admission::kMaxHeard; ++id) {
    (void)admission.add(id, std::to_string(id), kStart);
    ASSERT_TRUE(admission.next(kStart));
  }
  (void)admission.add(100, "late", kStart);
  const auto early = admission.next(kStart + milliseconds(100));
  // Strangers have as much to answer for as the one that each of them is; it has less.
  ASSERT_TRUE(early.has_value());
  EXPECT_TRUE(early->goes.has_value());
}

}  // namespace
}  // namespace heaptap::channel
