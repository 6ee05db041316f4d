// The announcer's side of multicast DNS, on a made-up network.
#include "common/discovery/responder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "made_network.h"

namespace heaptap::discovery {
namespace {

Reach at(const IpAddress& address) { return Reach::of_socket(Endpoint{.address = address, .port = 5000}.name(0)); }
Reach at_all(Family family) { return at({.family = family}); }

Service board_service() { return {.port = 5000, .program = "shop", .cpu = "x86_64", .version = "1.0"}; }

Message question(const Name& name, RecordType type, bool wants_unicast = false) {
  Message query;
  query.questions.push_back({.name = name, .type = type, .wants_unicast = wants_unicast});
  return query;
}

size_t count_of(const std::vector<Record>& records, RecordType type) {
  return static_cast<size_t>(std::ranges::count(records, type, &Record::type));
}

const Name kBoard("board", service_type());
const Name kHost({"board-heaptap", "local"});
const Endpoint kAsker{ipv4(10, 0, 1, 99), kMulticastPort};

// One announcer on one link with IPv4, and what it says after a question.
class OneResponder : public testing::Test {
 protected:
  OneResponder() : responder_(network_.announce(board_service(), "board", {only_ipv4(made_link(1, 7))})) {}

  void settle() {
    network_.run_for(200 * kSecond);  // all that was said of it may be said again
    network_.sent.clear();
  }
  std::vector<MadeNetwork::Sent> ask(const Message& query, const Endpoint& asker = kAsker) {
    network_.sent.clear();
    network_.inject(1, asker, query);
    network_.run_for(3 * kSecond);
    return network_.sent;
  }

  MadeNetwork network_;
  Responder& responder_;
};

TEST_F(OneResponder, ProbesThreeTimesAndAnnouncesTwice) {
  network_.run_for(10 * kSecond);
  ASSERT_EQ(network_.sent.size(), 5u);
  for (size_t probe = 0; probe < 3; ++probe) {
    const Message& message = network_.sent[probe].message;
    EXPECT_FALSE(message.is_response);
    ASSERT_EQ(message.questions.size(), 2u);
    EXPECT_EQ(message.questions[0].name, kBoard);
    EXPECT_EQ(message.questions[1].name, kHost);
    EXPECT_FALSE(message.questions[0].wants_unicast);
    EXPECT_EQ(count_of(message.authorities, RecordType::kSrv), 1u);
    EXPECT_EQ(count_of(message.authorities, RecordType::kA), 1u);
  }
  for (size_t announcement = 3; announcement < 5; ++announcement) {
    const Message& message = network_.sent[announcement].message;
    EXPECT_TRUE(message.is_response);
    EXPECT_EQ(message.answers.size(), 5u);
    for (const Record& record : message.answers) EXPECT_EQ(record.takes_place, record.type != RecordType::kPtr);
  }
  EXPECT_GE(network_.sent[1].time_ns - network_.sent[0].time_ns, 250 * kMillisecond);
  EXPECT_GE(network_.sent[4].time_ns - network_.sent[3].time_ns, kSecond);
  EXPECT_EQ(responder_.next_deadline(), kNever);
}

TEST_F(OneResponder, AnswersNothingBeforeItHasItsName) {
  network_.run_for(kMillisecond);
  network_.inject(1, kAsker, question(service_type(), RecordType::kPtr));
  network_.run_for(600 * kMillisecond);
  for (const auto& sent : network_.sent) EXPECT_FALSE(sent.message.is_response);
}

TEST_F(OneResponder, AnswersEachKindOfQuestion) {
  struct Case {
    Name name;
    RecordType type;
    size_t answers;
    size_t additionals;
  };
  const Case cases[] = {
      {service_type(), RecordType::kPtr, 1, 3},
      {service_type(), RecordType::kAny, 1, 3},
      {service_type(), RecordType::kSrv, 0, 0},
      {all_types(), RecordType::kPtr, 1, 0},
      {kBoard, RecordType::kSrv, 1, 1},
      {kBoard, RecordType::kTxt, 1, 0},
      {kBoard, RecordType::kAny, 2, 1},
      {kHost, RecordType::kA, 1, 0},
      {kHost, RecordType::kAaaa, 0, 0},
      {kHost, RecordType::kAny, 1, 0},
      {Name({"board", "local"}), RecordType::kA, 0, 0},
      {Name("other", service_type()), RecordType::kSrv, 0, 0},
      {Name({"BOARD", "_heaptap", "_TCP", "local"}), RecordType::kSrv, 1, 1},
  };
  for (const Case& one : cases) {
    settle();
    const auto sent = ask(question(one.name, one.type));
    ASSERT_EQ(sent.size(), one.answers > 0 ? 1u : 0u) << one.name.text();
    if (sent.empty()) continue;
    EXPECT_FALSE(sent[0].packet.peer.has_value());
    EXPECT_EQ(sent[0].message.id, 0);
    EXPECT_TRUE(sent[0].message.questions.empty());
    EXPECT_EQ(sent[0].message.answers.size(), one.answers) << one.name.text();
    EXPECT_EQ(sent[0].message.additionals.size(), one.additionals) << one.name.text();
  }
}

TEST_F(OneResponder, WaitsALittleWhereOthersAnswerAsWell) {
  settle();
  const uint64_t asked_ns = network_.now_ns;
  const auto shared = ask(question(service_type(), RecordType::kPtr));
  ASSERT_EQ(shared.size(), 1u);
  EXPECT_GE(shared[0].time_ns - asked_ns, 20 * kMillisecond);
  EXPECT_LE(shared[0].time_ns - asked_ns, 121 * kMillisecond);
  settle();
  const uint64_t again_ns = network_.now_ns;
  const auto unique = ask(question(kBoard, RecordType::kSrv));
  ASSERT_EQ(unique.size(), 1u);
  EXPECT_LE(unique[0].time_ns - again_ns, kMillisecond);
}

TEST_F(OneResponder, TellsAllAtMostOnceASecond) {
  settle();
  for (int times = 0; times < 100; ++times) {
    network_.inject(1, kAsker, question(kBoard, RecordType::kSrv));
    network_.run_for(20 * kMillisecond);
  }
  EXPECT_LE(network_.sent.size(), 3u);
  for (size_t at = 1; at < network_.sent.size(); ++at) {
    EXPECT_GE(network_.sent[at].time_ns - network_.sent[at - 1].time_ns, kSecond);
  }
}

TEST_F(OneResponder, TellsOneAtMostAHundredTimesASecond) {
  settle();
  const Endpoint legacy{ipv4(10, 0, 1, 99), 40'000};
  for (int times = 0; times < 1000; ++times) network_.inject(1, legacy, question(kBoard, RecordType::kSrv));
  network_.run_for(kMillisecond);
  EXPECT_EQ(network_.sent.size(), 100u);
}

TEST_F(OneResponder, DoesNotSayWhatIsKnown) {
  settle();
  Message query = question(service_type(), RecordType::kPtr);
  query.answers.push_back(make_pointer(service_type(), kBoard, 2250));
  EXPECT_TRUE(ask(query).empty());
  query.answers[0].ttl_s = 2249;  // less than half of its time
  EXPECT_EQ(ask(query).size(), 1u);
}

TEST_F(OneResponder, WaitsForMoreThatIsKnown) {
  settle();
  Message query = question(service_type(), RecordType::kPtr);
  query.is_truncated = true;
  query.answers.push_back(make_pointer(service_type(), Name("other", service_type()), 4500));
  Message rest;
  rest.answers.push_back(make_pointer(service_type(), kBoard, 4500));

  network_.inject(1, kAsker, query);
  network_.run_for(300 * kMillisecond);
  EXPECT_TRUE(network_.sent.empty());
  network_.inject(1, kAsker, rest);
  network_.run_for(kSecond);
  EXPECT_TRUE(network_.sent.empty());

  // What another one knows is of no use to this one.
  network_.inject(1, kAsker, query);
  network_.inject(1, {ipv4(10, 0, 1, 98), kMulticastPort}, rest);
  network_.run_for(kSecond);
  EXPECT_EQ(network_.sent.size(), 1u);
}

TEST_F(OneResponder, AnswersOneWhoWantsThatAloneWhileTheOthersKnow) {
  network_.run_for(10 * kSecond);
  const auto fresh = ask(question(kBoard, RecordType::kSrv, true));
  ASSERT_EQ(fresh.size(), 1u);
  EXPECT_EQ(fresh[0].packet.peer, kAsker);
  EXPECT_TRUE(fresh[0].message.answers[0].takes_place);
  network_.run_for(31 * kSecond);  // more than a quarter of its time
  const auto old = ask(question(kBoard, RecordType::kSrv, true));
  ASSERT_EQ(old.size(), 1u);
  EXPECT_FALSE(old[0].packet.peer.has_value());
}

TEST_F(OneResponder, AnswersProgramsOfItsOwnMachineThroughAll) {
  network_.run_for(10 * kSecond);
  const auto sent = ask(question(kBoard, RecordType::kSrv, true), {ipv4(10, 0, 1, 7), kMulticastPort});
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_FALSE(sent[0].packet.peer.has_value());
}

TEST_F(OneResponder, AnswersPlainDns) {
  settle();
  const Endpoint legacy{ipv4(10, 0, 1, 99), 40'000};
  Message query = question(service_type(), RecordType::kPtr);
  query.questions.push_back({.name = Name({"other", "local"}), .type = RecordType::kA});
  query.id = 77;
  const auto sent = ask(query, legacy);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].packet.peer, legacy);
  EXPECT_EQ(sent[0].message.id, 77);
  ASSERT_EQ(sent[0].message.questions.size(), 1u);
  EXPECT_EQ(sent[0].message.questions[0].name, service_type());
  EXPECT_EQ(sent[0].message.additionals.size(), 3u);
  for (const auto* const records : {&sent[0].message.answers, &sent[0].message.additionals}) {
    for (const Record& record : *records) {
      EXPECT_LE(record.ttl_s, 10u);
      EXPECT_FALSE(record.takes_place);
    }
  }
}

TEST_F(OneResponder, IgnoresWhoIsNotOnTheLink) {
  settle();
  EXPECT_TRUE(ask(question(kBoard, RecordType::kSrv), {ipv4(10, 0, 2, 99), kMulticastPort}).empty());
  EXPECT_TRUE(ask(question(kBoard, RecordType::kSrv), {ipv4(8, 8, 8, 8), 53}).empty());
  EXPECT_EQ(ask(question(kBoard, RecordType::kSrv), {ipv4(169, 254, 2, 99), kMulticastPort}).size(), 1u);
}

TEST_F(OneResponder, SaysGoodbye) {
  network_.run_for(10 * kSecond);
  const auto packets = responder_.goodbye();
  ASSERT_EQ(packets.size(), 1u);
  const auto message = read_message(packets[0].bytes);
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->answers.size(), 3u);
  for (const Record& record : message->answers) EXPECT_EQ(record.ttl_s, 0u);
  EXPECT_EQ(count_of(message->answers, RecordType::kA), 0u);
}

TEST_F(OneResponder, SaysNoGoodbyeBeforeItWasThere) { EXPECT_TRUE(responder_.goodbye().empty()); }

TEST_F(OneResponder, AnnouncesAnotherProgramAgain) {
  network_.run_for(10 * kSecond);
  network_.sent.clear();
  responder_.set_program("mail", network_.now_ns);
  network_.run_for(10 * kSecond);
  ASSERT_EQ(network_.sent.size(), 2u);
  const auto text = std::ranges::find(network_.sent[0].message.answers, RecordType::kTxt, &Record::type);
  EXPECT_EQ(text_value(text->data, "program"), "mail");
  EXPECT_EQ(responder_.name(), "board");  // what comes back to it is no other's
}

TEST_F(OneResponder, AnnouncesOtherAddressesAgain) {
  network_.run_for(10 * kSecond);
  network_.sent.clear();
  network_.set_links(0, {only_ipv4(made_link(1, 8))});
  network_.run_for(10 * kSecond);
  ASSERT_EQ(network_.sent.size(), 2u);
  const auto address = std::ranges::find(network_.sent[0].message.answers, RecordType::kA, &Record::type);
  EXPECT_EQ(address->data, ipv4(10, 0, 1, 8).data());
}

TEST_F(OneResponder, DefendsItsName) {
  settle();
  Message probe = question(kBoard, RecordType::kAny, true);
  probe.authorities.push_back(make_place(kBoard, {.port = 1, .host = local_name("zebra")}, 120));
  const auto sent = ask(probe);
  ASSERT_FALSE(sent.empty());
  EXPECT_EQ(count_of(sent[0].message.answers, RecordType::kSrv), 1u);
  EXPECT_EQ(responder_.name(), "board");
}

TEST_F(OneResponder, TakesTheNextNameWhereSomebodyHasIt) {
  network_.run_for(300 * kMillisecond);
  Message answer{.is_response = true};
  answer.answers.push_back(make_place(kBoard, {.port = 1, .host = local_name("zebra")}, 120));
  network_.inject(1, kAsker, answer);
  network_.run_for(10 * kSecond);
  EXPECT_EQ(responder_.name(), "board (2)");
  EXPECT_EQ(network_.sent.back().message.answers.size(), 5u);
}

TEST_F(OneResponder, TakesTheNextHostWhereSomebodyHasIt) {
  network_.run_for(300 * kMillisecond);
  Message answer{.is_response = true};
  answer.answers.push_back({.name = kHost, .type = RecordType::kA, .ttl_s = 120, .data = ipv4(10, 0, 1, 50).data()});
  network_.inject(1, kAsker, answer);
  network_.run_for(10 * kSecond);
  EXPECT_EQ(responder_.name(), "board");
  const auto& answers = network_.sent.back().message.answers;
  EXPECT_EQ(place_of(*std::ranges::find(answers, RecordType::kSrv, &Record::type))->host.text(),
            "board-heaptap-2.local");
}

TEST_F(OneResponder, ProbesAgainWhenSomebodySaysThatItIsHis) {
  settle();
  Message answer{.is_response = true};
  answer.answers.push_back(make_place(kBoard, {.port = 1, .host = local_name("zebra")}, 120));
  network_.inject(1, kAsker, answer);
  network_.run_for(10 * kSecond);
  ASSERT_EQ(network_.sent.size(), 5u);
  EXPECT_FALSE(network_.sent[0].message.is_response);
  EXPECT_EQ(responder_.name(), "board");  // he doesn't answer
}

TEST_F(OneResponder, IsPatientWhereConflictsDoNotEnd) {
  Message answer{.is_response = true};
  for (int times = 0; times < 1000; ++times) {
    answer.answers.assign(
        1, make_place(Name(responder_.name(), service_type()), {.port = 1, .host = local_name("zebra")}, 120));
    network_.inject(1, kAsker, answer);
    network_.run_for(100 * kMillisecond);
  }
  EXPECT_LT(network_.sent.size(), 100u);
}

// Boards of one image that are switched on together: each has a name in a few seconds.
TEST(Responder, TwentyOfOneNameDoNotQueueForTheirNumbers) {
  MadeNetwork network;
  std::vector<const Responder*> responders;
  for (uint8_t each = 0; each < 20; ++each) {
    responders.push_back(&network.announce(board_service(), "board", {made_link(1, static_cast<uint8_t>(20 + each))}));
  }
  const Querier& querier = network.seek({made_link(1, 9)});
  network.run_for(20 * kSecond);
  std::set<std::string> names;
  for (const Responder* const each : responders) names.insert(each->name());
  EXPECT_EQ(names.size(), 20u);
  EXPECT_EQ(querier.services().size(), 20u);
}

TEST(Responder, OfTwoThatProbeAtOnceOneGetsTheName) {
  for (uint8_t round = 0; round < 20; ++round) {
    MadeNetwork network;
    for (int before = 0; before < round; ++before) network.announce({.name = "else"}, "else", {});  // other pauses
    Service one = board_service();
    Service other = board_service();
    other.port = 5001;
    const Responder& first = network.announce(one, "board", {made_link(1, 7)});
    const Responder& second = network.announce(other, "board", {made_link(1, 8)});
    network.run_for(20 * kSecond);
    std::vector<std::string> names{first.name(), second.name()};
    std::ranges::sort(names);
    EXPECT_EQ(names, (std::vector<std::string>{"board", "board (2)"}));
  }
}

TEST(Responder, WhoHasTheNameKeepsIt) {
  for (const uint8_t machine : {uint8_t{7}, uint8_t{8}}) {  // the same one, another one
    for (const uint64_t later_ns : {kSecond, 2 * kSecond, 10 * kSecond, 100 * kSecond}) {
      MadeNetwork network;
      Service other = board_service();
      other.port = 5001;
      const Responder& first = network.announce(board_service(), "board", {made_link(1, 7)});
      network.run_for(kSecond + later_ns);
      const Responder& second = network.announce(other, "board", {made_link(1, machine)});
      network.run_for(20 * kSecond);
      EXPECT_EQ(first.name(), "board");
      EXPECT_EQ(second.name(), "board (2)");
    }
  }
}

TEST(Responder, TwoOfOneMachineHaveOneHost) {
  MadeNetwork network;
  Service other = board_service();
  other.port = 5001;
  const Responder& first = network.announce(board_service(), "board", {made_link(1, 7)});
  const Responder& second = network.announce(other, "board", {made_link(1, 7)});
  network.run_for(20 * kSecond);
  EXPECT_NE(first.name(), second.name());
  for (const size_t program : {0, 1}) {
    const auto answers = network.sent_by(program).back().message.answers;
    EXPECT_EQ(place_of(*std::ranges::find(answers, RecordType::kSrv, &Record::type))->host, kHost);
  }
}

TEST(Responder, TwoLinksOnOneSegmentAreNoConflict) {
  MadeNetwork network;
  const Link link = made_link(1, 7);
  const Responder& responder = network.announce(board_service(), "board", {link, made_link(2, 7)});
  network.run_for(500 * kMillisecond);
  // What it said on the one comes in on the other, too.
  for (const auto& sent : std::vector(network.sent)) {
    network.inject(3 - sent.packet.channel.link, {ipv4(10, 0, 1, 7), kMulticastPort}, sent.message);
    network.inject(3 - sent.packet.channel.link, {ipv4(169, 254, 0, 7), kMulticastPort}, sent.message);
  }
  network.run_for(10 * kSecond);
  EXPECT_EQ(responder.name(), "board");
  EXPECT_EQ(
      place_of(responder.goodbye().empty() ? Record{} : read_message(responder.goodbye()[0].bytes)->answers[1])->host,
      kHost);
}

TEST(Responder, SpeaksOnEachLinkAndFamilyOfItsOwnAddresses) {
  MadeNetwork network;
  network.announce(board_service(), "board", {made_link(1, 7), made_link(2, 8)});
  network.run_for(10 * kSecond);
  for (const unsigned link : {1U, 2U}) {
    for (const Family family : {Family::kIpv4, Family::kIpv6}) {
      const auto last = std::ranges::find(network.sent.rbegin(), network.sent.rend(), Channel{link, family},
                                          [](const MadeNetwork::Sent& sent) { return sent.packet.channel; });
      ASSERT_NE(last, network.sent.rend());
      const auto& answers = last->message.answers;
      EXPECT_EQ(count_of(answers, RecordType::kA), 1u);
      EXPECT_EQ(count_of(answers, RecordType::kAaaa), 1u);
      const auto own = made_link(static_cast<uint8_t>(link), static_cast<uint8_t>(link + 6)).addresses[0].address;
      EXPECT_EQ(std::ranges::find(answers, RecordType::kA, &Record::type)->data, own.data());
    }
  }
}

TEST(Responder, ALinkThatComesLaterIsProbedAndAnnouncedOn) {
  MadeNetwork network;
  network.announce(board_service(), "board", {made_link(1, 7)});
  network.run_for(10 * kSecond);
  network.sent.clear();
  network.set_links(0, {made_link(1, 7), only_ipv4(made_link(2, 7))});
  network.run_for(10 * kSecond);
  EXPECT_EQ(network.sent.size(), 5u);
  for (const auto& sent : network.sent) EXPECT_EQ(sent.packet.channel.link, 2u);
  network.set_links(0, {});
  network.sent.clear();
  network.run_for(10 * kSecond);
  EXPECT_TRUE(network.sent.empty());
}

TEST(Responder, AnnouncesTheAddressesAloneThatItIsReachedAt) {
  struct Case {
    Reach reach;
    size_t ipv4;
    size_t ipv6;
    std::string host;
  };
  const Case cases[] = {{Reach(), 2, 1, "board-heaptap.local"},
                        {at_all(Family::kIpv4), 2, 0, "board-heaptap.local"},
                        {at_all(Family::kIpv6), 0, 1, "board-heaptap-ipv6.local"},
                        {at(ipv4(10, 0, 1, 8)), 1, 0, "board-heaptap-10-0-1-8.local"}};
  for (const Case& one : cases) {
    MadeNetwork network;
    Service service = board_service();
    service.reach = one.reach;
    Link link = made_link(1, 7);
    link.addresses.push_back({ipv4(10, 0, 1, 8), 24});
    const Responder& responder = network.announce(service, "board", {link});
    network.run_for(10 * kSecond);
    EXPECT_TRUE(responder.speaks());
    // Both families are told: a querier of one may connect by the other.
    for (const Family family : {Family::kIpv4, Family::kIpv6}) {
      const auto last = std::ranges::find(network.sent.rbegin(), network.sent.rend(), Channel{1, family},
                                          [](const auto& sent) { return sent.packet.channel; });
      ASSERT_NE(last, network.sent.rend()) << one.host;
      const auto& answers = last->message.answers;
      EXPECT_EQ(count_of(answers, RecordType::kA), one.ipv4) << one.host;
      EXPECT_EQ(count_of(answers, RecordType::kAaaa), one.ipv6) << one.host;
      EXPECT_EQ(place_of(*std::ranges::find(answers, RecordType::kSrv, &Record::type))->host.text(), one.host);
    }
  }
}

TEST(Responder, SaysNothingWhereItIsNotReached) {
  MadeNetwork network;
  Service service = board_service();
  service.reach = at(ipv4(10, 0, 2, 7));
  const Responder& responder = network.announce(service, "board", {made_link(1, 7), made_link(2, 7)});
  network.run_for(10 * kSecond);
  EXPECT_FALSE(network.sent.empty());
  for (const auto& sent : network.sent) EXPECT_EQ(sent.packet.channel.link, 2u);
  network.set_links(0, {made_link(1, 7)});
  EXPECT_FALSE(responder.speaks());
  EXPECT_TRUE(responder.goodbye().empty());
}

TEST(Responder, TwoOfOneMachineAtOnePortOfOtherAddressesAreTwo) {
  for (const uint64_t later_ns : {uint64_t{0}, 10 * kSecond}) {
    MadeNetwork network;
    Service four = board_service();
    Service six = board_service();
    four.reach = at_all(Family::kIpv4);
    six.reach = at_all(Family::kIpv6);
    network.announce(four, "board", {made_link(1, 7)});
    network.run_for(later_ns);
    network.announce(six, "board", {made_link(1, 7)});
    network.run_for(20 * kSecond);
    const Querier& querier = network.seek({made_link(1, 9)});
    network.run_for(20 * kSecond);
    const auto services = querier.services();
    ASSERT_EQ(services.size(), 2u);
    EXPECT_NE(services[0].name, services[1].name);
    for (const FoundService& service : services) {
      const bool is_six = service.host == "board-heaptap-ipv6.local";
      EXPECT_EQ(service.addresses, (std::vector<FoundAddress>{{is_six ? ipv6(7) : ipv4(10, 0, 1, 7), "eth1"}}));
    }
  }
}

TEST(Responder, NamesFitIntoALabel) {
  MadeNetwork network;
  const std::string long_name(100, 'n');
  EXPECT_EQ(network.announce({.port = 1}, long_name + ".example.org", {}).name(), long_name.substr(0, 63));
  EXPECT_EQ(network.announce({.port = 1}, "", {}).name(), "heaptap");
  const IpAddress longest{.family = Family::kIpv6,
                          .bytes = {0x20, 1, 0x1d, 0xb8, 0x11, 1, 0x11, 2, 0x11, 3, 0x11, 4, 0x11, 5, 0x11, 6}};
  EXPECT_EQ(network.announce({.port = 1, .reach = at(longest)}, long_name, {}).name(), long_name.substr(0, 63));
  EXPECT_EQ(network.announce({.name = "My board.", .port = 1}, "host", {}).name(), "My board.");
}

}  // namespace
}  // namespace heaptap::discovery
