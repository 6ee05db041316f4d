#include "apps/heaptap/commands/offers.h"

#include <gtest/gtest.h>

namespace heaptap::app {
namespace {

TEST(Offers, ARecorderThatDoesNotAnswerIsListedAsSuch) {
  client::Offer offer{.pid = 7, .program = "shop", .machine = "", .recorder = 12};
  EXPECT_EQ(program_text(offer), "shop");
  offer.answers = false;
  EXPECT_EQ(program_text(offer), "shop; the heaptap that records it, pid 12, doesn't answer: is it stopped?");
  offer = {.pid = 7, .program = "", .machine = "board:8086", .recorder = 12, .answers = false};
  EXPECT_EQ(program_text(offer), "the heaptap that records it, pid 12, doesn't answer: is it stopped?");
  offer.recorder = 0;
  EXPECT_EQ(program_text(offer), "the heaptap that records it doesn't answer: is it stopped?");
}

}  // namespace
}  // namespace heaptap::app
