// What goes between two ends of a channel, over memory: both have to mean the same and know the same token; whatever else comes is
// refused with a reason, in bounded memory.
#include <bearssl.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>

#include "channel/plain_session.h"
#include "channel/tls_session.h"
#include "memory_stream.h"

namespace heaptap::channel {
namespace {

using test::MemoryPipe;
using test::MemoryStream;
using State = Session::State;

constexpr const char* kTokenText = "MxM2YQ3q1kTj0wYmY0c8Qk7mT0v5p3nA";
constexpr size_t kQueueBytes = size_t{256} << 10;

const Token& token() {
  static const Token kToken = *Token::from_text(kTokenText, "a test");
  return kToken;
}

// Always another one: as two connections have.
TlsSession::Seed new_seed() {
  static uint8_t g_number = 0;
  TlsSession::Seed seed{};
  seed[0] = ++g_number;
  return seed;
}

std::unique_ptr<Session> tls(Role role) { return std::make_unique<TlsSession>(role, token(), new_seed()); }

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

int rounds(int few, int many) {
  return std::getenv("HEAPTAP_LONG") != nullptr ? many : few;
}  // NOLINT(concurrency-mt-unsafe)

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
    for (size_t kept = 0; kept < bytes; kept += 1 + (GetParam() && kept > 16 ? 6 : 0)) {
      Ends both = ends();
      MemoryPipe& pipe = upwards ? both.up : both.down;
      pipe.max_bytes = kept;
      both.greet();
      pipe.is_ended = true;
      Session& cut = upwards ? *both.listener : *both.connector;
      MemoryStream& stream = upwards ? both.at_listener : both.at_connector;
      cut.greet(stream);
      ASSERT_EQ(cut.state(), State::kFailed) << kept << " of " << bytes;
      ASSERT_TRUE(has(cut.why(), "hung up before")) << cut.why();
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
      EXPECT_TRUE(has(session.why(), listens ? "not heaptap's protocol" : "no heaptap")) << hello << session.why();
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

TEST(TlsSession, OfAnotherTokenIsRefusedOnBothSides) {
  const Token other = *Token::from_text(std::string(kTokenText) + "x", "a test");
  Ends wrong{std::make_unique<TlsSession>(Role::kConnector, other, new_seed()), tls(Role::kListener)};
  wrong.greet();
  for (const Session* const session : {wrong.connector.get(), wrong.listener.get()}) {
    EXPECT_EQ(session->state(), State::kFailed);
    EXPECT_TRUE(has(session->why(), "another token")) << session->why();
  }
}

// An end of a TLS that is set up by hand: what only one who means harm does.
class Stranger {
 public:
  Stranger() {
    br_ssl_client_zero(&client_);
    br_ssl_engine_context& engine = client_.eng;
    br_ssl_engine_set_versions(&engine, BR_TLS12, BR_TLS12);
    br_ssl_engine_set_suites(&engine, &kSuite, 1);
    br_ssl_engine_set_ec(&engine, &br_ec_p256_m31);
    br_ssl_engine_set_ecdsa(&engine, br_ecdsa_i31_vrfy_asn1);
    br_ssl_engine_set_hash(&engine, br_sha256_ID, &br_sha256_vtable);
    br_ssl_engine_set_prf_sha256(&engine, br_tls12_sha256_prf);
    br_ssl_engine_set_chapol(&engine, &br_sslrec_in_chapol_vtable, &br_sslrec_out_chapol_vtable);
    br_ssl_engine_set_chacha20(&engine, br_chacha20_ct_run);
    br_ssl_engine_set_poly1305(&engine, br_poly1305_ctmul_run);
    // It takes any key as the listener's: that of the token, for the sake of this test.
    point_ = token().listeners_key().point;
    key_ = {BR_EC_secp256r1, point_.data(), point_.size()};
    br_x509_knownkey_init_ec(&known_, &key_, BR_KEYTYPE_SIGN);
    br_ssl_engine_set_x509(&engine, &known_.vtable);
    br_ssl_engine_set_buffer(&engine, buffer_.data(), buffer_.size(), 1);
    br_ssl_engine_inject_entropy(&engine, "0123456789abcdef", 16);
    br_ssl_client_reset(&client_, nullptr, 0);
  }
  // Signs with a key of its own.
  void show_own_key() {
    static uint8_t g_nobody = 0;
    static const br_x509_certificate kNobody{&g_nobody, 1};
    own_ = Token::from_text("another token, not that one", "a test")->connectors_key();
    secret_ = {BR_EC_secp256r1, own_.secret.data(), own_.secret.size()};
    br_ssl_client_set_single_ec(&client_, &kNobody, 1, &secret_, BR_KEYTYPE_SIGN, BR_KEYTYPE_EC, &br_ec_p256_m31,
                                br_ecdsa_i31_sign_asn1);
  }
  void exchange(Session& listener) {
    MemoryPipe up;
    MemoryPipe down;
    MemoryStream stream(up, down);
    for (int turn = 0; turn < 20; ++turn) {
      size_t bytes = 0;
      while (const uint8_t* const from = br_ssl_engine_sendrec_buf(&client_.eng, &bytes)) {
        up.bytes.insert(up.bytes.end(), from, from + bytes);
        br_ssl_engine_sendrec_ack(&client_.eng, bytes);
      }
      listener.greet(stream);
      while (uint8_t* const to = br_ssl_engine_recvrec_buf(&client_.eng, &bytes)) {
        bytes = std::min(bytes, down.waiting());
        if (bytes == 0) break;
        std::copy_n(down.bytes.begin() + static_cast<std::ptrdiff_t>(down.taken), bytes, to);
        down.taken += bytes;
        br_ssl_engine_recvrec_ack(&client_.eng, bytes);
      }
    }
  }
  [[nodiscard]] bool is_in() const { return (br_ssl_engine_current_state(&client_.eng) & BR_SSL_SENDAPP) != 0; }

 private:
  static constexpr uint16_t kSuite = BR_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256;

  br_ssl_client_context client_{};
  br_x509_knownkey_context known_{};
  br_ec_public_key key_{};
  br_ec_private_key secret_{};
  std::array<uint8_t, 65> point_{};
  Token::Key own_;
  std::array<uint8_t, BR_SSL_BUFSIZE_BIDI> buffer_{};
};

TEST(TlsSession, OfOneWithoutAKeyIsRefused) {
  Stranger stranger;
  const auto listener = tls(Role::kListener);
  stranger.exchange(*listener);
  EXPECT_FALSE(stranger.is_in());
  EXPECT_EQ(listener->state(), State::kFailed);
  EXPECT_TRUE(has(listener->why(), "didn't prove that it knows the token")) << listener->why();
}

TEST(TlsSession, OfOneWithAKeyOfItsOwnIsRefused) {
  Stranger stranger;
  stranger.show_own_key();
  const auto listener = tls(Role::kListener);
  stranger.exchange(*listener);
  EXPECT_FALSE(stranger.is_in());
  EXPECT_EQ(listener->state(), State::kFailed);
  EXPECT_TRUE(has(listener->why(), "another token")) << listener->why();
}

// All that one end said in a connection that came about, said again to a new other end.
TEST(TlsSession, ReplayedIsRefused) {
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
  const size_t step = rounds(13, 1) == 1 ? 1 : 13;
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
    for (int round = 0; round < rounds(1'000, 100'000); ++round) {
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
  for (int round = 0; round < rounds(60, 2'000); ++round) {
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
    EXPECT_TRUE(has(both.listener->why(), "changes bytes on their way") || has(both.listener->why(), "was cut off"))
        << both.listener->why();
    ASSERT_LT(out.size(), sent.size());
    EXPECT_TRUE(std::equal(out.begin(), out.end(), sent.begin()));
  }
}

}  // namespace
}  // namespace heaptap::channel
