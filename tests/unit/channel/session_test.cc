// What goes between two ends of a channel, over memory: both have to mean the same and prove who they are; whatever else comes is
// refused with a reason, in bounded memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <random>
#include <span>
#include <string>

#include "common/channel/plain_session.h"
#include "common/channel/proven_session.h"
#include "common/channel/security.h"
#include "common/channel/tls_session.h"
#include "memory_stream.h"
#include "rounds.h"

namespace heaptap::channel {
namespace {

using test::MemoryPipe;
using test::MemoryStream;
using State = Session::State;

constexpr size_t kQueueBytes = size_t{256} << 10;

// Always another one: as two connections have.
TlsSession::Seed new_seed() {
  static uint8_t g_number = 0;
  TlsSession::Seed seed{};
  seed[0] = ++g_number;
  return seed;
}

KeyPair new_key() { return KeyPair::from_seed(new_seed(), "a test"); }

// Two ends that know each other.
const KeyPair& key_of(Role role) {
  static const KeyPair kListener = new_key();
  static const KeyPair kConnector = new_key();
  return role == Role::kListener ? kListener : kConnector;
}

Role other_of(Role role) { return role == Role::kListener ? Role::kConnector : Role::kListener; }

Credentials credentials(const KeyPair& own, const KeyPair& other, bool of_token = false) {
  return {.own = own, .trusted = {{Fingerprint::of(other.public_key()), "other"}}, .of_token = of_token};
}

std::unique_ptr<TlsSession> bare_tls(Role role) {
  return role == Role::kListener ? TlsSession::of_listener(new_key(), new_seed())
                                 : TlsSession::of_connector(new_seed());
}

std::unique_ptr<Session> tls(Role role, const Credentials& own) {
  return std::make_unique<ProvenSession>(role, own, bare_tls(role), new_seed());
}

std::unique_ptr<Session> tls(Role role) { return tls(role, credentials(key_of(role), key_of(other_of(role)))); }

// The two ends, and what goes between them.
struct Ends {
  Ends(std::unique_ptr<Session> connecting, std::unique_ptr<Session> listening)
      : connector(std::move(connecting)), listener(std::move(listening)) {}
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;

  void set_max_piece(size_t bytes) {
    at_connector.set_max_piece(bytes);
    at_listener.set_max_piece(bytes);
  }
  // Until nothing happens any more.
  void greet() {
    for (size_t before = SIZE_MAX; before != progress();) {
      before = progress();
      connector->greet(at_connector);
      connector->write(at_connector, connectors_queue);
      listener->greet(at_listener);
      listener->write(at_listener, listeners_queue);
    }
  }
  [[nodiscard]] size_t progress() const { return up.bytes.size() + up.taken + down.bytes.size() + down.taken; }
  [[nodiscard]] bool are_ready() const {
    return connector->state() == State::kReady && listener->state() == State::kReady;
  }

  MemoryPipe up;    // to the listener
  MemoryPipe down;  // to the connector
  MemoryStream at_connector{down, up};
  MemoryStream at_listener{up, down};
  std::unique_ptr<Session> connector;
  std::unique_ptr<Session> listener;
  ByteQueue connectors_queue{kQueueBytes};
  ByteQueue listeners_queue{kQueueBytes};
};

Ends tls_ends() { return {tls(Role::kConnector), tls(Role::kListener)}; }
std::unique_ptr<Session> plain(Role role) { return std::make_unique<PlainSession>(role); }
Ends plain_ends() { return {plain(Role::kConnector), plain(Role::kListener)}; }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<uint8_t> some_bytes(size_t count) {
  std::vector<uint8_t> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 251);
  return bytes;
}

class EachKind : public testing::TestWithParam<bool> {
 protected:
  static Ends ends() { return GetParam() ? tls_ends() : plain_ends(); }
};
INSTANTIATE_TEST_SUITE_P(Session, EachKind, testing::Bool(),
                         [](const auto& kind) { return kind.param ? std::string("Tls") : std::string("Plain"); });

// What both ends write comes whole, in pieces of any size, and neither a read nor the queue goes beyond its bound.
void carry_both_ways(Ends& ends, size_t count) {
  const std::vector<uint8_t> sent = some_bytes(count);
  std::vector<uint8_t> at_listener;
  std::vector<uint8_t> at_connector;
  size_t up = 0;
  size_t down = 0;
  while (at_listener.size() < count || at_connector.size() < count) {
    up += ends.connectors_queue.add(std::span(sent).subspan(up));
    down += ends.listeners_queue.add(std::span(sent).subspan(down));
    ends.connector->write(ends.at_connector, ends.connectors_queue);
    ends.listener->write(ends.at_listener, ends.listeners_queue);
    for (auto* const out : {&at_listener, &at_connector}) {
      const size_t before = out->size();
      if (out == &at_listener) ends.listener->read(ends.at_listener, *out);
      if (out == &at_connector) ends.connector->read(ends.at_connector, *out);
      ASSERT_LE(out->size() - before, kMaxReadBytes);
    }
    ASSERT_TRUE(ends.are_ready()) << ends.connector->why() << ends.listener->why();
  }
  EXPECT_EQ(at_listener, sent);
  EXPECT_EQ(at_connector, sent);
}

TEST_P(EachKind, CarriesBytesBothWays) {
  Ends both = ends();
  both.greet();
  ASSERT_TRUE(both.are_ready()) << both.connector->why() << both.listener->why();
  carry_both_ways(both, size_t{1} << 20);
}

TEST_P(EachKind, CarriesBytesOneAtATime) {
  Ends both = ends();
  both.set_max_piece(1);
  both.greet();
  ASSERT_TRUE(both.are_ready()) << both.connector->why() << both.listener->why();
  carry_both_ways(both, 40'000);
}

TEST_P(EachKind, TakesNothingBehindTheGreeting) {
  Ends both = ends();
  while (both.listener->state() == State::kGreeting) {
    both.connector->greet(both.at_connector);
    both.listener->greet(both.at_listener);
  }
  // The listener says more at once.
  (void)both.listeners_queue.add(some_bytes(10));
  both.listener->write(both.at_listener, both.listeners_queue);
  both.connector->greet(both.at_connector);
  EXPECT_EQ(both.connector->state(), State::kReady);
  EXPECT_GT(both.down.waiting(), 0u);
}

TEST_P(EachKind, ThatIsNotReadKeepsNoMoreThanItsQueue) {
  Ends both = ends();
  both.greet();
  both.up.max_waiting = 100'000;
  const std::vector<uint8_t> bytes = some_bytes(50'000);
  size_t taken = 0;
  for (int i = 0; i < 1'000; ++i) {
    taken += both.connectors_queue.add(bytes);
    both.connector->write(both.at_connector, both.connectors_queue);
  }
  EXPECT_EQ(both.connectors_queue.room(), 0u);
  EXPECT_LE(taken, kQueueBytes + 100'000 + 20'000);  // a record is on its way
  EXPECT_TRUE(both.connector->wants_to_send(both.connectors_queue));
  // And goes on when the other one reads again.
  std::vector<uint8_t> out;
  while (out.size() < taken) {
    both.listener->read(both.at_listener, out);
    both.connector->write(both.at_connector, both.connectors_queue);
    ASSERT_TRUE(both.are_ready());
  }
  EXPECT_EQ(out.size(), taken);
}

TEST_P(EachKind, SaysItsEnd) {
  Ends both = ends();
  both.greet();
  (void)both.connectors_queue.add(some_bytes(100));
  both.connector->write(both.at_connector, both.connectors_queue);
  both.connector->say_end();
  both.connector->write(both.at_connector, both.connectors_queue);
  both.up.is_ended = true;
  std::vector<uint8_t> out;
  both.listener->read(both.at_listener, out);
  both.listener->write(both.at_listener, both.listeners_queue);
  EXPECT_EQ(out.size(), 100u);
  EXPECT_EQ(both.listener->state(), State::kEnded) << both.listener->why();
}

TEST_P(EachKind, OfOneThatTakesNoMoreIsStillRead) {
  Ends both = ends();
  both.greet();
  (void)both.listeners_queue.add(some_bytes(100));
  both.listener->write(both.at_listener, both.listeners_queue);
  both.up.is_broken = true;
  (void)both.connectors_queue.add(some_bytes(100));
  both.connector->write(both.at_connector, both.connectors_queue);
  EXPECT_FALSE(both.connector->wants_to_send(both.connectors_queue));  // nothing to wait for
  std::vector<uint8_t> out;
  both.connector->read(both.at_connector, out);
  EXPECT_EQ(out.size(), 100u);
}

// Where the greeting is cut off, at each byte of each direction: a reason, and never ready on both sides.
TEST_P(EachKind, CutOffAtAnyByteHasAReason) {
  Ends whole = ends();
  whole.greet();
  for (const bool upwards : {true, false}) {
    const size_t bytes = upwards ? whole.up.bytes.size() : whole.down.bytes.size();
    // A signature of TLS has some bytes more or less each time.
    const size_t varies = GetParam() ? 8 : 0;
    for (size_t kept = 0; kept + varies < bytes; kept += 1 + (GetParam() && kept > 16 ? 6 : 0)) {
      Ends both = ends();
      MemoryPipe& pipe = upwards ? both.up : both.down;
      pipe.max_bytes = kept;
      both.greet();
      pipe.is_ended = true;
      Session& cut = upwards ? *both.listener : *both.connector;
      MemoryStream& stream = upwards ? both.at_listener : both.at_connector;
      cut.greet(stream);
      ASSERT_EQ(cut.state(), State::kFailed) << kept << " of " << bytes;
      ASSERT_TRUE(has(cut.why(), "closed the connection") || has(cut.why(), "was cut off")) << cut.why();
    }
  }
}

TEST(PlainSession, AndTlsSayWhatIsTheMatter) {
  Ends plain_calls{plain(Role::kConnector), tls(Role::kListener)};
  plain_calls.greet();
  EXPECT_TRUE(has(plain_calls.connector->why(), "the other side has a token")) << plain_calls.connector->why();
  EXPECT_TRUE(has(plain_calls.listener->why(), "the other side has no token")) << plain_calls.listener->why();

  Ends tls_calls{tls(Role::kConnector), plain(Role::kListener)};
  tls_calls.greet();
  EXPECT_TRUE(has(tls_calls.connector->why(), "the other side has no token")) << tls_calls.connector->why();
  EXPECT_TRUE(has(tls_calls.listener->why(), "the other side has a token")) << tls_calls.listener->why();
}

TEST_P(EachKind, RefusesWhatIsNoHeaptap) {
  for (const std::string hello :
       {"GET / HTTP/1.1\r\n\r\n", "SSH-2.0-OpenSSH_9.2p1\r\n", "\n", "\xff\xff\xff\xff\xff"}) {
    for (const bool listens : {true, false}) {
      Ends both = ends();
      MemoryPipe& pipe = listens ? both.up : both.down;
      pipe.bytes.assign(hello.begin(), hello.end());
      Session& session = listens ? *both.listener : *both.connector;
      session.greet(listens ? both.at_listener : both.at_connector);
      EXPECT_EQ(session.state(), State::kFailed) << hello;
      EXPECT_TRUE(has(session.why(), listens ? "not heaptap's protocol" : "is not heaptap")) << hello << session.why();
    }
  }
}

TEST(PlainSession, OfOneThatGreetsAndHearsNothingFails) {
  Ends both = plain_ends();
  both.listener->greet(both.at_listener);
  both.up.is_broken = true;
  both.connector->greet(both.at_connector);
  EXPECT_EQ(both.connector->state(), State::kFailed);
}

TEST(ProvenSession, KnowsTheOtherEndByItsName) {
  Ends both = tls_ends();
  both.greet();
  ASSERT_TRUE(both.are_ready());
  EXPECT_EQ(both.listener->peer_name(), "other, " + Fingerprint::of(key_of(Role::kConnector).public_key()).to_text());
}

TEST(ProvenSession, OfAnotherTokenIsRefusedOnBothSides) {
  const KeyPair stranger = new_key();
  for (const Role wrong_one : {Role::kConnector, Role::kListener}) {
    const auto end = [&](Role role) {
      const KeyPair& own = role == wrong_one ? stranger : key_of(role);
      return tls(role, credentials(own, key_of(other_of(role)), true));
    };
    Ends wrong{end(Role::kConnector), end(Role::kListener)};
    wrong.greet();
    // Whom the listener takes for the right one hears its proof, and finds out by himself.
    EXPECT_EQ(wrong.connector->state(), State::kFailed);
    EXPECT_TRUE(has(wrong.connector->why(), "different token")) << wrong.connector->why();
    if (wrong_one == Role::kListener) continue;
    EXPECT_EQ(wrong.listener->state(), State::kFailed);
    EXPECT_TRUE(has(wrong.listener->why(), "different token")) << wrong.listener->why();
  }
}

// An end of the encryption without a proof of its own: what one who means harm has.
struct Attacker {
  explicit Attacker(Role role) : session(bare_tls(role)) {}
  void say(std::span<const uint8_t> bytes) { (void)queue.add(bytes); }
  void proceed(ByteStream& stream) {
    session->greet(stream);
    session->write(stream, queue);
    if (session->state() == State::kReady) session->read(stream, heard);
  }

  std::unique_ptr<TlsSession> session;
  ByteQueue queue{kQueueBytes};
  std::vector<uint8_t> heard;
};

// Bytes between one who attacks and one who is attacked.
struct Duel {
  explicit Duel(Role victims, const Credentials& own) : attacker(other_of(victims)), victim(tls(victims, own)) {}
  void run() {
    for (int turn = 0; turn < 20; ++turn) {
      attacker.proceed(at_attacker);
      victim->greet(at_victim);
      ByteQueue none(0);
      victim->write(at_victim, none);
    }
  }

  Attacker attacker;
  std::unique_ptr<Session> victim;
  MemoryPipe in;
  MemoryPipe out;
  MemoryStream at_attacker{out, in};
  MemoryStream at_victim{in, out};
};

Credentials victims(Role role) { return credentials(key_of(role), key_of(other_of(role))); }

// Nothing is said to one who has proved nothing: neither the listener's key nor a signature.
TEST(ProvenSession, TellsAStrangerNothing) {
  Duel duel(Role::kListener, victims(Role::kListener));
  duel.run();
  EXPECT_TRUE(duel.attacker.heard.empty());
  const std::vector<uint8_t> noise(161, 4);
  duel.attacker.say(noise);
  duel.run();
  EXPECT_EQ(duel.attacker.heard, std::vector<uint8_t>{0});
  EXPECT_EQ(duel.victim->state(), State::kFailed);
}

// Who shows the right key and can't sign with it.
TEST(ProvenSession, OfAKeyThatIsNotItsOwnIsRefused) {
  Duel duel(Role::kListener, victims(Role::kListener));
  std::vector<uint8_t> proof(161, 7);
  std::ranges::copy(key_of(Role::kConnector).public_key(), proof.begin());
  duel.attacker.say(proof);
  duel.run();
  EXPECT_EQ(duel.victim->state(), State::kFailed);
  EXPECT_TRUE(has(duel.victim->why(), "didn't prove")) << duel.victim->why();
  EXPECT_TRUE(duel.attacker.heard.empty());
}

// Two connections with one in the middle, who passes on what each says inside of its encryption.
TEST(ProvenSession, OfOneInTheMiddleIsRefusedOnBothSides) {
  Duel host(Role::kConnector, victims(Role::kConnector));
  Duel target(Role::kListener, victims(Role::kListener));
  for (int turn = 0; turn < 20; ++turn) {
    host.run();
    target.attacker.say(host.attacker.heard);
    host.attacker.heard.clear();
    target.run();
    host.attacker.say(target.attacker.heard);
    target.attacker.heard.clear();
  }
  EXPECT_EQ(target.victim->state(), State::kFailed);
  EXPECT_TRUE(has(target.victim->why(), "man in the middle")) << target.victim->why();
  EXPECT_NE(host.victim->state(), State::kReady);
}

// What a right host said before, to one who listens for it and says it again elsewhere.
TEST(ProvenSession, OfAProofOfAnotherConnectionIsRefused) {
  Duel heard(Role::kConnector, victims(Role::kConnector));
  heard.run();
  ASSERT_EQ(heard.attacker.heard.size(), 161u);
  Duel said(Role::kListener, victims(Role::kListener));
  said.attacker.say(heard.attacker.heard);
  said.run();
  EXPECT_EQ(said.victim->state(), State::kFailed);
  EXPECT_TRUE(has(said.victim->why(), "didn't prove")) << said.victim->why();
}

// Its own words are no answer to a listener, and no proof to a connector.
TEST(ProvenSession, ReflectedIsRefused) {
  const KeyPair own = new_key();
  Duel duel(Role::kConnector, credentials(own, own));
  duel.run();
  std::vector<uint8_t> back{1};
  back.insert(back.end(), duel.attacker.heard.begin(), duel.attacker.heard.begin() + 65);
  back.insert(back.end(), duel.attacker.heard.end() - 64, duel.attacker.heard.end());
  duel.attacker.say(back);
  duel.run();
  EXPECT_EQ(duel.victim->state(), State::kFailed);
}

// Each bit of a proof counts: 161 and 130 bytes.
TEST(ProvenSession, WithAnyByteOfAProofChangedIsRefused) {
  Duel right(Role::kConnector, victims(Role::kConnector));
  right.run();
  for (size_t at = 0; at < 161; at += 7) {
    Duel duel(Role::kListener, victims(Role::kListener));
    duel.run();
    std::vector<uint8_t> proof(161);
    // As the right host would say it to this listener.
    const PublicKey& key = key_of(Role::kConnector).public_key();
    const std::string_view purpose("heaptap-channel-2/connector\0", 28);
    std::ranges::copy(key, proof.begin());
    const auto random = std::span<const uint8_t>(proof).subspan(65, 32);
    const Digest digest = sha256({{reinterpret_cast<const uint8_t*>(purpose.data()), purpose.size()},
                                  *duel.attacker.session->channel_key(),
                                  key,
                                  random});
    std::ranges::copy(key_of(Role::kConnector).sign(digest), proof.begin() + 97);
    const bool is_changed = at > 0;
    if (is_changed) proof[at] ^= 1;
    duel.attacker.say(proof);
    duel.run();
    EXPECT_EQ(duel.victim->state() == State::kReady, !is_changed) << at << duel.victim->why();
  }
}

// All that one end said in a connection that came about, said again to a new other end.
TEST(ProvenSession, ReplayedIsRefused) {
  Ends recorded = tls_ends();
  recorded.greet();
  (void)recorded.connectors_queue.add(some_bytes(1'000));
  (void)recorded.listeners_queue.add(some_bytes(1'000));
  recorded.connector->write(recorded.at_connector, recorded.connectors_queue);
  recorded.listener->write(recorded.at_listener, recorded.listeners_queue);
  ASSERT_TRUE(recorded.are_ready());
  for (const bool listens : {true, false}) {
    MemoryPipe in;
    MemoryPipe out;
    MemoryStream stream(in, out);
    in.bytes = listens ? recorded.up.bytes : recorded.down.bytes;
    const auto session = tls(listens ? Role::kListener : Role::kConnector);
    session->greet(stream);
    EXPECT_EQ(session->state(), State::kFailed) << listens;
  }
  // What one end said is no answer to itself either.
  for (const bool listens : {true, false}) {
    MemoryPipe in;
    MemoryPipe out;
    MemoryStream stream(in, out);
    in.bytes = listens ? recorded.down.bytes : recorded.up.bytes;
    const auto session = tls(listens ? Role::kListener : Role::kConnector);
    session->greet(stream);
    EXPECT_EQ(session->state(), State::kFailed) << listens;
  }
}

TEST(TlsSession, WithAnyByteChangedIsRefused) {
  Ends whole = tls_ends();
  whole.greet();
  std::mt19937 random(1);
  const size_t bytes = whole.up.bytes.size() + whole.down.bytes.size();
  const size_t step = test::rounds(13, 1) == 1 ? 1 : 13;
  for (size_t at = random() % step; at < bytes; at += step) {
    Ends both = tls_ends();
    const bool upwards = at < whole.up.bytes.size();
    const size_t place = upwards ? at : at - whole.up.bytes.size();
    MemoryPipe& pipe = upwards ? both.up : both.down;
    Session& session = upwards ? *both.listener : *both.connector;
    both.set_max_piece(1);  // so that the byte is changed before it is taken
    bool is_changed = false;
    for (size_t before = SIZE_MAX; before != both.progress();) {
      before = both.progress();
      for (Session* const end : {both.connector.get(), both.listener.get()}) {
        MemoryStream& stream = end == both.connector.get() ? both.at_connector : both.at_listener;
        end->write(stream, both.connectors_queue);
        if (!is_changed && pipe.bytes.size() > place && pipe.taken <= place) {
          pipe.bytes[place] ^= static_cast<uint8_t>(1 + random() % 255);
          is_changed = true;
        }
        end->greet(stream);
      }
    }
    ASSERT_TRUE(is_changed) << at;
    // The one who got it never takes it as it is; where lengths were changed it may wait for more.
    EXPECT_NE(session.state(), State::kReady) << at;
    EXPECT_FALSE(both.are_ready()) << at;
  }
}

// 100,000 changed bytes against each side, in its greeting; each session ends or waits.
TEST(TlsSession, SurvivesWhatIsNoGreeting) {
  Ends recorded = tls_ends();
  recorded.greet();
  std::mt19937 random(2);
  for (const bool listens : {true, false}) {
    const std::vector<uint8_t>& sound = listens ? recorded.up.bytes : recorded.down.bytes;
    for (int round = 0; round < test::rounds(1'000, 100'000); ++round) {
      MemoryPipe in;
      MemoryPipe out;
      MemoryStream stream(in, out);
      in.bytes = sound;
      const size_t changes = round % 2 == 0 ? 200 : 1 + random() % 4;
      for (size_t i = 0; i < changes; ++i) in.bytes[random() % in.bytes.size()] = static_cast<uint8_t>(random());
      if (round % 4 != 0) std::copy_n(sound.begin(), 5 + random() % 60, in.bytes.begin());  // its beginning may pass
      if (round % 8 == 0) std::ranges::generate(in.bytes, [&] { return static_cast<uint8_t>(random()); });
      const auto session = tls(listens ? Role::kListener : Role::kConnector);
      session->greet(stream);
      in.is_ended = true;
      session->greet(stream);
      ASSERT_EQ(session->state(), State::kFailed);
      ASSERT_FALSE(session->why().empty());
      ASSERT_LT(out.bytes.size(), 2'000u);
    }
  }
}

TEST(TlsSession, ThatGreetsWithoutAnEndIsRefused) {
  for (const Role role : {Role::kListener, Role::kConnector}) {
    MemoryPipe in;
    MemoryPipe out;
    MemoryStream stream(in, out);
    // Alerts that are mere warnings.
    for (int i = 0; i < 100'000; ++i) in.bytes.insert(in.bytes.end(), {21, 3, 3, 0, 2, 1, 90});
    const auto session = tls(role);
    session->greet(stream);
    EXPECT_EQ(session->state(), State::kFailed);
    EXPECT_LT(in.taken, 20'000u);
  }
}

// Changed, repeated, left out or cut off after the greeting.
TEST(TlsSession, ChangedBytesAreNeverHandedOut) {
  std::mt19937 random(3);
  for (int round = 0; round < test::rounds(60, 2'000); ++round) {
    Ends both = tls_ends();
    both.greet();
    const size_t begin = both.up.bytes.size();
    const std::vector<uint8_t> sent = some_bytes(3'000);
    for (size_t at = 0; at < sent.size(); at += 1'000) {
      (void)both.connectors_queue.add(std::span(sent).subspan(at, 1'000));
      both.connector->write(both.at_connector, both.connectors_queue);
    }
    std::vector<uint8_t>& bytes = both.up.bytes;
    const size_t record_bytes = (bytes.size() - begin) / 3;
    const auto second = bytes.begin() + static_cast<std::ptrdiff_t>(begin + record_bytes);
    const auto third = second + static_cast<std::ptrdiff_t>(record_bytes);
    switch (round % 4) {
      case 0:
        bytes[begin + random() % (bytes.size() - begin)] ^= static_cast<uint8_t>(1 + random() % 255);
        break;
      case 1:
        std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(begin), second, second);
        break;
      case 2:
        bytes.erase(second, third);
        break;
      default:
        bytes.resize(bytes.size() - 1 - random() % 900);
        break;
    }
    both.up.is_ended = true;
    std::vector<uint8_t> out;
    for (int turn = 0; turn < 10; ++turn) both.listener->read(both.at_listener, out);
    EXPECT_EQ(both.listener->state(), State::kFailed) << round;
    EXPECT_TRUE(has(both.listener->why(), "changed or cut off in transit") || has(both.listener->why(), "was cut off"))
        << both.listener->why();
    ASSERT_LT(out.size(), sent.size());
    EXPECT_TRUE(std::equal(out.begin(), out.end(), sent.begin()));
  }
}

}  // namespace
}  // namespace heaptap::channel
