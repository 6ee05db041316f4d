// The real sockets, on loopback: an announcer and a browser in one process find each other.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <vector>

#include "common/base/clock.h"
#include "common/discovery/announcer.h"
#include "common/discovery/browser.h"

namespace heaptap::discovery {
namespace {

// Lives in one loop, as its owner's would be.
template <typename Done>
bool serve_until(Announcer& announcer, Browser& browser, Done&& done) {
  const uint64_t end_ns = base::clock_ns(CLOCK_MONOTONIC) + 60 * kSecond;
  while (!done()) {
    const uint64_t now_ns = base::clock_ns(CLOCK_MONOTONIC);
    if (now_ns >= end_ns) return false;
    const uint64_t next_ns = std::min({announcer.next_deadline(), browser.next_deadline(), end_ns});
    std::vector<pollfd> waits;
    announcer.add_waits(waits);
    browser.add_waits(waits);
    poll(waits.data(), waits.size(), next_ns <= now_ns ? 0 : static_cast<int>((next_ns - now_ns) / kMillisecond + 1));
    announcer.serve();
    browser.serve();
  }
  return true;
}

TEST(Sockets, AnAnnouncerIsFoundAndMissed) {
  auto announcer = Announcer::create({.name = "heaptap's own test", .port = 5000}, Where::kNetworkAndLoopback);
  ASSERT_TRUE(announcer.has_value()) << announcer.error().message;
  auto browser = Browser::create();
  ASSERT_TRUE(browser.has_value()) << browser.error().message;
  const auto find = [&] {
    const auto services = browser->services();
    const auto found = std::ranges::find(services, announcer->name(), &FoundService::name);
    return found == services.end() ? std::optional<FoundService>() : *found;
  };
  ASSERT_TRUE(serve_until(*announcer, *browser, [&] { return find().has_value() && !find()->addresses.empty(); }));
  EXPECT_EQ(find()->port, 5000);
  announcer->set_program("shop");
  EXPECT_TRUE(
      serve_until(*announcer, *browser, [&] { return find() && text_value(find()->text, "program") == "shop"; }));
  Announcer moved = *std::move(announcer);
  const std::string name = moved.name();
  EXPECT_FALSE(name.empty());
}

}  // namespace
}  // namespace heaptap::discovery
