// Readings of a clock that are used for several events (docs/decisions/0003): the order of what happened to one place of memory is
// that of the times.
#include "agent/core/last_writer_table.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <random>
#include <vector>

#include "at_once.h"

namespace heaptap::agent {
namespace {

constexpr uint32_t kThreads = 4;
constexpr uint32_t kPlaces = 16;
constexpr uint32_t kEventsEach = 20'000;

// A clock that says nothing of itself but what comes after what.
std::atomic<uint64_t> g_clock{1};
uint64_t read_clock() { return g_clock.fetch_add(1, std::memory_order_seq_cst); }

// As recorder.cc does it: a reading for several events, as long as nobody else has to do with their places.
class Stream {
 public:
  Stream(LastWriterTable& owners, uint32_t slot) : owners_(owners), owner_(LastWriterTable::owner_of(slot)) {}

  uint64_t time_for(uint64_t address) {
    constexpr uint32_t kUses = 8;
    if (uses_ != 0 && owners_.is(address, owner_)) {
      --uses_;
      return last_;
    }
    constexpr int kMaxTries = 8;
    for (int i = 0; i < kMaxTries && owners_.are_worthwhile(); ++i) {
      if (!owners_.is(address, owner_)) owners_.take(address, owner_);
      last_ = read_clock();
      uses_ = kUses;
      if (owners_.is(address, owner_)) return last_;
    }
    owners_.give_up();
    uses_ = 0;
    return last_ = read_clock();
  }

 private:
  LastWriterTable& owners_;
  const LastWriterTable::Owner owner_;
  uint64_t last_ = 0;
  uint32_t uses_ = 0;
};

struct Event {
  uint64_t time;
  uint32_t thread;
};

// Places that one thread has at a time, as a block; what happens to it is noted in the order in which it happens.
struct Place {
  std::atomic<uint32_t> taken{0};
  std::vector<Event> events;
};

class LastWriterTableTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(owners_.start()); }
  static uint64_t address_of(size_t place) { return 0x10'0000 + place * 64; }

  void use_places(uint32_t thread, uint32_t give_up_at) {
    Stream stream(owners_, thread);
    std::mt19937 random(thread);
    for (uint32_t i = 0; i < kEventsEach;) {
      // Mostly a place of its own, so that readings are shared at all.
      const size_t number = random() % 4 != 0 ? thread : random() % kPlaces;
      Place& place = places_[number];
      if (place.taken.exchange(1, std::memory_order_acquire) != 0) continue;
      place.events.push_back({stream.time_for(address_of(number)), thread});
      place.taken.store(0, std::memory_order_release);
      if (++i == give_up_at) owners_.give_up();
    }
  }
  // How many events shared a reading with the one before.
  uint32_t expect_order() const {
    uint32_t shared = 0;
    for (const Place& place : places_) {
      for (size_t i = 1; i < place.events.size(); ++i) {
        const Event& before = place.events[i - 1];
        const Event& event = place.events[i];
        if (event.thread == before.thread) {
          EXPECT_GE(event.time, before.time);
          shared += event.time == before.time ? 1 : 0;
        } else {
          EXPECT_GT(event.time, before.time);
        }
      }
    }
    return shared;
  }

  LastWriterTable owners_;
  std::array<Place, kPlaces> places_;
};

TEST_F(LastWriterTableTest, TimesOfAPlaceAreInTheOrderOfItsEvents) {
  test::run_at_once(kThreads, [this](uint32_t thread) { use_places(thread, UINT32_MAX); });
  EXPECT_GT(expect_order(), 0u) << "readings are shared";
}

TEST_F(LastWriterTableTest, TheyAreThatTooWhereOwnersAreGivenUpMeanwhile) {
  test::run_at_once(kThreads, [this](uint32_t thread) { use_places(thread, thread == 0 ? 1000 : UINT32_MAX); });
  expect_order();
  EXPECT_FALSE(owners_.are_worthwhile());
}

}  // namespace
}  // namespace heaptap::agent
