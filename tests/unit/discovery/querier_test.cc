// Services that are looked for, on a made-up network.
#include "common/discovery/querier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "made_network.h"

namespace heaptap::discovery {
namespace {

Service service_of(const std::string& id) {
  return {.port = 5000, .program = "shop", .cpu = "x86_64", .version = "1.0", .id = id};
}

std::vector<std::string> names_of(const std::vector<FoundService>& services) {
  std::vector<std::string> names;
  for (const FoundService& service : services) names.push_back(service.name);
  return names;
}

// All that one says of itself, as another program says it.
Message said_of(const std::string& name, const std::string& host, uint32_t ttl_s = 120) {
  const Name instance(name, service_type());
  Message message{.is_response = true};
  message.answers.push_back(make_pointer(service_type(), instance, ttl_s));
  message.additionals.push_back(make_place(instance, {.port = 7, .host = local_name(host)}, ttl_s));
  message.additionals.push_back(
      {.name = instance, .type = RecordType::kTxt, .takes_place = true, .ttl_s = ttl_s, .data = {'\0'}});
  message.additionals.push_back({.name = local_name(host),
                                 .type = RecordType::kA,
                                 .takes_place = true,
                                 .ttl_s = ttl_s,
                                 .data = ipv4(10, 0, 1, 50).data()});
  return message;
}

const Endpoint kOther{ipv4(10, 0, 1, 50), kMulticastPort};
Endpoint neighbour(uint8_t last) { return {ipv4(10, 0, 1, last), kMulticastPort}; }

TEST(Querier, FindsOneThatWasThereBefore) {
  MadeNetwork network;
  network.announce(service_of("1"), "board", {made_link(1, 7)});
  network.run_for(60 * kSecond);
  const Querier& querier = network.seek({made_link(1, 9)});
  network.run_for(500 * kMillisecond);
  ASSERT_EQ(querier.services().size(), 1u);
  const FoundService found = querier.services()[0];
  EXPECT_EQ(found.name, "board");
  EXPECT_EQ(found.host, "board-heaptap.local");
  EXPECT_EQ(found.port, 5000);
  EXPECT_EQ(found.addresses, (std::vector<FoundAddress>{{ipv4(10, 0, 1, 7), "eth1"}, {ipv6(7), "eth1"}}));
  EXPECT_EQ(text_value(found.text, "program"), "shop");
}

TEST(Querier, FindsOneThatComesLater) {
  MadeNetwork network;
  const Querier& querier = network.seek({made_link(1, 9)});
  network.run_for(30 * kSecond);
  EXPECT_TRUE(querier.services().empty());
  network.announce(service_of("1"), "board", {made_link(1, 7)});
  network.run_for(2 * kSecond);
  EXPECT_EQ(names_of(querier.services()), std::vector<std::string>{"board"});
}

TEST(Querier, AsksLessAndLessOften) {
  MadeNetwork network;
  network.seek({only_ipv4(made_link(1, 9))});
  const uint64_t start_ns = network.now_ns;
  network.run_for(70 * kSecond);
  std::vector<uint64_t> seconds;
  for (const auto& sent : network.sent) seconds.push_back((sent.time_ns - start_ns) / kSecond);
  EXPECT_EQ(seconds, (std::vector<uint64_t>{0, 1, 3, 7, 15, 31, 63}));
  EXPECT_TRUE(network.sent[0].message.questions[0].wants_unicast);
  EXPECT_FALSE(network.sent[1].message.questions[0].wants_unicast);
}

TEST(Querier, SaysWhatItKnows) {
  MadeNetwork network;
  const Responder& responder = network.announce(service_of("1"), "board", {only_ipv4(made_link(1, 7))});
  network.run_for(60 * kSecond);
  network.seek({only_ipv4(made_link(1, 9))});
  network.run_for(20 * kSecond);
  EXPECT_EQ(responder.name(), "board");
  const auto asked = network.sent_by(1);
  ASSERT_GE(asked.size(), 3u);
  EXPECT_TRUE(asked[0].message.answers.empty());
  EXPECT_EQ(asked[1].message.answers.size(), 1u);
  EXPECT_EQ(network.sent_by(0).back().time_ns / kSecond,
            asked[0].time_ns / kSecond);  // it answered the first one alone
}

TEST(Querier, ManyThatAreKnownAreSaidInSeveralMessages) {
  MadeNetwork network;
  network.seek({only_ipv4(made_link(1, 9))});
  network.run_for(500 * kMillisecond);
  for (int number = 0; number < 100; ++number) {
    const Endpoint sender = neighbour(static_cast<uint8_t>(50 + number % 10));
    network.inject(1, sender, said_of("board " + std::to_string(number), "host", 4500));
  }
  network.sent.clear();
  network.run_for(kSecond);
  ASSERT_EQ(network.sent.size(), 4u);
  size_t known = 0;
  for (const auto& sent : network.sent) known += sent.message.answers.size();
  EXPECT_EQ(known, 100u);
  EXPECT_TRUE(network.sent[2].message.is_truncated);
  EXPECT_FALSE(network.sent[3].message.is_truncated);
}

TEST(Querier, KnowsThatOneSaidGoodbye) {
  MadeNetwork network;
  network.announce(service_of("1"), "board", {made_link(1, 7)});
  const Querier& querier = network.seek({made_link(1, 9)});
  network.run_for(10 * kSecond);
  EXPECT_EQ(querier.services().size(), 1u);
  network.end(0, true);
  network.run_for(2 * kSecond);
  EXPECT_TRUE(querier.services().empty());
}

TEST(Querier, ForgetsOneThatDoesNotAnswerAnyMore) {
  MadeNetwork network;
  network.announce(service_of("1"), "board", {made_link(1, 7)});
  const Querier& querier = network.seek({made_link(1, 9)});
  network.run_for(1000 * kSecond);
  EXPECT_EQ(querier.services().size(), 1u);  // asked for again in time
  network.end(0, false);
  network.run_for(125 * kSecond);
  EXPECT_TRUE(querier.services().empty());
}

TEST(Querier, OneBehindSeveralLinksStandsThereOnce) {
  MadeNetwork network;
  network.announce(service_of("1"), "board", {made_link(1, 7), made_link(2, 7)});
  const Querier& querier = network.seek({made_link(2, 9), made_link(1, 9)});
  network.run_for(10 * kSecond);
  ASSERT_EQ(querier.services().size(), 1u);
  EXPECT_EQ(querier.services()[0].addresses,
            (std::vector<FoundAddress>{
                {ipv4(10, 0, 1, 7), "eth1"}, {ipv4(10, 0, 2, 7), "eth2"}, {ipv6(7), "eth1"}, {ipv6(7), "eth2"}}));
}

TEST(Querier, TheBestAddressIsOneThatIsSurelyReached) {
  const IpAddress global{.family = Family::kIpv6,
                         .bytes = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7}};
  Link board = made_link(1, 7);
  board.addresses = {{ipv6(7), 64}, {global, 64}, {ipv4(169, 254, 0, 7), 16}};
  Link with_global = made_link(1, 9);
  with_global.addresses = {{ipv6(9), 64}, {global, 64}};
  with_global.addresses.back().address.bytes.back() = 9;
  Link without = made_link(1, 9);
  without.addresses = {{ipv6(9), 64}};
  for (const bool has_global : {true, false}) {
    MadeNetwork network;
    network.announce(service_of("1"), "board", {board});
    const Querier& querier = network.seek({has_global ? with_global : without});
    network.run_for(10 * kSecond);
    ASSERT_EQ(querier.services().size(), 1u);
    EXPECT_EQ(querier.services()[0].addresses[0].address, has_global ? global : ipv6(7));
  }
}

TEST(Querier, TwoOfOneNameBehindTwoLinksAreTwo) {
  MadeNetwork network;
  network.announce(service_of("1"), "board", {made_link(1, 7)});
  network.announce(service_of("2"), "board", {made_link(2, 7)});
  const Querier& querier = network.seek({made_link(1, 9), made_link(2, 9)});
  network.run_for(10 * kSecond);
  EXPECT_EQ(names_of(querier.services()), (std::vector<std::string>{"board", "board"}));
}

TEST(Querier, AsksForWhatWasNotSaid) {
  MadeNetwork network;
  const Querier& querier = network.seek({only_ipv4(made_link(1, 9))});
  network.run_for(500 * kMillisecond);
  Message whole = said_of("board", "host");
  Message part = whole;
  part.additionals.clear();
  network.inject(1, kOther, part);
  network.sent.clear();
  network.run_for(kMillisecond);
  ASSERT_EQ(network.sent.size(), 1u);
  EXPECT_EQ(network.sent[0].message.questions.size(), 2u);  // SRV, TXT
  EXPECT_TRUE(querier.services().empty());

  part = whole;
  part.additionals.resize(2);  // without its address
  network.inject(1, kOther, part);
  network.run_for(kSecond);
  EXPECT_EQ(querier.services().size(), 1u);
  EXPECT_TRUE(querier.services()[0].addresses.empty());
  const auto& questions = network.sent.back().message.questions;
  EXPECT_EQ(questions.size(), 2u);
  EXPECT_EQ(questions[0].name, local_name("host"));
  network.inject(1, kOther, whole);
  EXPECT_EQ(querier.services()[0].addresses.size(), 1u);
}

TEST(Querier, ANewAddressTakesThePlaceOfTheOld) {
  MadeNetwork network;
  const Querier& querier = network.seek({only_ipv4(made_link(1, 9))});
  Message said = said_of("board", "host");
  network.inject(1, kOther, said);
  network.run_for(2 * kSecond);
  said.additionals[2].data = ipv4(10, 0, 1, 51).data();
  network.inject(1, kOther, said);
  ASSERT_EQ(querier.services().size(), 1u);
  EXPECT_EQ(querier.services()[0].addresses, (std::vector<FoundAddress>{{ipv4(10, 0, 1, 51), "eth1"}}));
}

TEST(Querier, BelievesNobodyWhoIsNotOnTheLinkOrSpeaksFromAnotherPort) {
  MadeNetwork network;
  const Querier& querier = network.seek({made_link(1, 9)});
  network.inject(1, {ipv4(10, 0, 2, 50), kMulticastPort}, said_of("board", "host"));
  network.inject(1, {ipv4(10, 0, 1, 50), 5354}, said_of("board", "host"));
  EXPECT_TRUE(querier.services().empty());
  network.inject(1, kOther, said_of("board", "host"));
  EXPECT_EQ(querier.services().size(), 1u);
}

TEST(Querier, HasABound) {
  MadeNetwork network;
  const Querier& querier = network.seek({only_ipv4(made_link(1, 9))});
  for (int number = 0; number < 3000; ++number) {
    const std::string text = std::to_string(number);
    network.inject(1, neighbour(static_cast<uint8_t>(10 + number % 200)), said_of("board " + text, "host" + text));
    Message addresses{.is_response = true};
    for (uint8_t last = 0; last < 100; ++last) {
      addresses.answers.push_back({.name = local_name("host" + text),
                                   .type = RecordType::kA,
                                   .ttl_s = 120,
                                   .data = ipv4(10, 0, 1, last).data()});
    }
    network.inject(1, kOther, addresses);
  }
  EXPECT_EQ(querier.services().size(), kMaxFoundServices);
  EXPECT_TRUE(querier.is_full());
  for (const FoundService& service : querier.services()) EXPECT_LE(service.addresses.size(), kMaxLinkAddresses);
  network.run_for(300 * kSecond);  // none of them answers
  EXPECT_TRUE(querier.services().empty());
  EXPECT_FALSE(querier.is_full());
}

TEST(Querier, OneWhoMakesServicesUpPushesNobodyOut) {
  MadeNetwork network;
  const Querier& querier = network.seek({only_ipv4(made_link(1, 9))});
  for (int number = 0; number < 3000; ++number) {
    const std::string text = std::to_string(number);
    network.inject(1, kOther, said_of("a forged " + text, "host" + text));
  }
  EXPECT_EQ(querier.services().size(), kMaxServicesOfSender);
  EXPECT_TRUE(querier.is_full());
  network.announce(service_of("1"), "board", {made_link(1, 7)});
  network.run_for(10 * kSecond);
  EXPECT_EQ(std::ranges::count(names_of(querier.services()), "board"), 1);
}

// With all addresses of a network that aren't theirs.
TEST(Querier, ManyWhoMakeServicesUpGiveWayToWhoSaysLess) {
  MadeNetwork network;
  const Querier& querier = network.seek({only_ipv4(made_link(1, 9))});
  network.inject(1, neighbour(201), said_of("early", "early"));
  for (int number = 0; number < 6000; ++number) {
    const std::string text = std::to_string(number);
    network.inject(1, neighbour(static_cast<uint8_t>(10 + number % 180)), said_of("forged " + text, "host" + text));
  }
  EXPECT_EQ(querier.services().size(), kMaxFoundServices);
  network.inject(1, neighbour(200), said_of("late", "late"));
  network.inject(1, neighbour(200), said_of("later", "late"));
  EXPECT_EQ(querier.services().size(), kMaxFoundServices);
  for (const char* const name : {"early", "late", "later"}) {
    EXPECT_EQ(std::ranges::count(names_of(querier.services()), name), 1) << name;
  }
}

TEST(Querier, ForgetsWhatALinkToldThatIsGone) {
  MadeNetwork network;
  network.announce(service_of("1"), "board", {made_link(1, 7)});
  const Querier& querier = network.seek({made_link(1, 9), made_link(2, 9)});
  network.run_for(10 * kSecond);
  EXPECT_EQ(querier.services().size(), 1u);
  network.set_links(1, {made_link(2, 9)});
  network.run_for(kMillisecond);
  EXPECT_TRUE(querier.services().empty());
}

}  // namespace
}  // namespace heaptap::discovery
