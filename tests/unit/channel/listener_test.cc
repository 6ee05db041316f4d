// Both ends of a channel over sockets, in one thread and one poll() loop. What isn't woken by poll() or a deadline hangs here, and
// fails.
#include "common/channel/listener.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "child_process.h"

namespace heaptap::channel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const Time kStart = Clock::now();

// Of a token: each call gives a new one.
Security newly_secured() { return {.token = *Token::from_text(*Token::make_text(), "a test"), .keys = {}}; }

const Security& secured() {
  static const Security kSecurity = newly_secured();
  return kSecurity;
}

// Of the keys of a host and a target that know each other.
struct Paired {
  KeyPair host = *KeyPair::generate();
  KeyPair target = *KeyPair::generate();

  [[nodiscard]] Security of_host() const { return of(host, target, "127.0.0.1"); }
  [[nodiscard]] Security of_target() const { return of(target, host, "desk"); }
  static Security of(const KeyPair& own, const KeyPair& other, const std::string& name) {
    return {.token = {}, .keys = Credentials{.own = own, .trusted = {{Fingerprint::of(other.public_key()), name}}}};
  }
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<uint8_t> some_bytes(size_t count) {
  std::vector<uint8_t> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 251);
  return bytes;
}

class Directory {
 public:
  Directory() { std::filesystem::create_directory(path_); }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_ =
      std::filesystem::temp_directory_path() / (std::string("heaptap-channel-") + std::to_string(getpid()));
};

Listener listen_at(const std::string& address, const Security& security = {}) {
  auto listener = Listener::listen(*parse_address(address), security, {});
  EXPECT_TRUE(listener.has_value()) << listener.error().message;
  return *std::move(listener);
}

Connection connect_to(const Address& address, const Security& security = {}) {
  auto connection = Connection::connect(address, security, {}, kStart);
  EXPECT_TRUE(connection.has_value()) << connection.error().message;
  return *std::move(connection);
}

std::string why_not(const base::Result<Connection>& connection) { return connection ? "" : connection.error().message; }
std::string why_not(const base::Result<Listener>& listener) { return listener ? "" : listener.error().message; }

// Polls and proceeds until something is so.
struct Loop {
  Listener* listener = nullptr;
  std::vector<Connection*> connections;
  Time now = kStart;

  bool run_until(const std::function<bool()>& is_so) {
    constexpr int kHangsMs = 10'000;
    while (!is_so()) {
      std::vector<pollfd> waits;
      if (listener != nullptr) listener->add_waits(waits);
      for (const Connection* const connection : connections) connection->add_waits(waits);
      if (poll(waits.data(), waits.size(), kHangsMs) <= 0) return false;
      if (listener != nullptr) listener->proceed(now);
      for (Connection* const connection : connections) connection->proceed(now);
    }
    return true;
  }
  std::optional<Connection> accepted() {
    std::optional<Connection> got;
    (void)run_until([&] { return (got = listener->next()).has_value(); });
    return got;
  }
  std::optional<Listener::FailedAttempt> failed() {
    std::optional<Listener::FailedAttempt> got;
    (void)run_until([&] { return (got = listener->next_failed()).has_value(); });
    return got;
  }
};

// A socket of one who doesn't speak as a channel does.
base::UniqueFd raw_connection(const Address& to, const char* from = nullptr) {
  const auto name = to.to_socket();
  base::UniqueFd socket(::socket(name->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (from != nullptr) {
    const auto own = parse_address(std::string(from) + ":0")->to_socket();
    EXPECT_EQ(bind(socket.get(), own->get(), own->bytes), 0);
  }
  EXPECT_EQ(connect(socket.get(), name->get(), name->bytes), 0) << strerror(errno);
  return socket;
}

struct Way {
  std::string name;
  std::string address;
  bool has_token;
};

class EachWay : public testing::TestWithParam<Way> {
 protected:
  EachWay() {
    const bool is_file = GetParam().address.empty();
    listener_.emplace(listen_at(is_file ? directory_.file("s") : GetParam().address, security_));
    here_.emplace(connect_to(listener_->address(), security_));
    loop_ = {&*listener_, {&*here_}, kStart};
  }
  void meet() {
    there_ = loop_.accepted();
    ASSERT_TRUE(there_.has_value()) << here_->why();
    loop_.connections.push_back(&*there_);
    ASSERT_TRUE(loop_.run_until([&] { return here_->is_ready(); })) << here_->why();
  }

  Directory directory_;
  Security security_ = GetParam().has_token ? secured() : Security{};
  std::optional<Listener> listener_;
  std::optional<Connection> here_;
  std::optional<Connection> there_;
  Loop loop_;
};
INSTANTIATE_TEST_SUITE_P(Channel, EachWay,
                         testing::Values(Way{"Unix", "", false}, Way{"UnixToken", "", true}, Way{"Tcp", ":0", true},
                                         Way{"Tcp6", "[::1]:0", true}),
                         [](const auto& way) { return way.param.name; });

TEST_P(EachWay, CarriesBytesBothWaysAndEnds) {
  meet();
  const std::vector<uint8_t> sent = some_bytes(size_t{2} << 20);
  std::vector<uint8_t> up;
  std::vector<uint8_t> down;
  size_t up_sent = 0;
  size_t down_sent = 0;
  EXPECT_TRUE(loop_.run_until([&] {
    up_sent += here_->write(std::span(sent).subspan(up_sent));
    down_sent += there_->write(std::span(sent).subspan(down_sent));
    here_->flush();
    there_->flush();
    (void)there_->read(up);
    (void)here_->read(down);
    return up.size() >= sent.size() && down.size() >= sent.size();
  })) << here_->why()
      << there_->why();
  EXPECT_EQ(up, sent);
  EXPECT_EQ(down, sent);

  // The last words arrive, though the other end spoke as well and was not read.
  EXPECT_EQ(there_->write(std::span(sent).first(1'000)), 1'000u);
  there_->flush();
  up.clear();
  EXPECT_EQ(here_->write(std::span(sent).first(200'000)), 200'000u);
  here_->end(kStart);
  EXPECT_FALSE(here_->is_ready());
  EXPECT_TRUE(loop_.run_until([&] {
    (void)there_->read(up);
    return there_->is_gone();
  }));
  EXPECT_EQ(up.size(), 200'000u);
  EXPECT_EQ(there_->why(), "the other side closed the connection");
  EXPECT_TRUE(loop_.run_until([&] { return here_->is_gone(); }));
  EXPECT_EQ(here_->why(), "this side closed the connection");
}

TEST_P(EachWay, WhatIsSaidWithTheLastOfTheGreetingWakes) {
  there_ = loop_.accepted();
  ASSERT_TRUE(there_.has_value());
  const std::vector<uint8_t> sent = some_bytes(10);
  EXPECT_EQ(there_->write(sent), 10u);
  there_->flush();
  std::vector<uint8_t> got;
  EXPECT_TRUE(loop_.run_until([&] { return here_->read(got) > 0; }));
  EXPECT_EQ(got, sent);
}

TEST_P(EachWay, NeverWaitsForOneThatDoesNotRead) {
  meet();
  const std::vector<uint8_t> bytes = some_bytes(100'000);
  size_t taken = 0;
  for (int i = 0; i < 200; ++i) {  // 20 MB
    taken += here_->write(bytes);
    here_->flush();
  }
  EXPECT_LT(here_->room(), bytes.size());
  constexpr size_t kRecordBytes = 17'000;
  EXPECT_LE(here_->outgoing_bytes(), Connection::Limits{}.max_outgoing_bytes + kRecordBytes);
  EXPECT_LT(taken, size_t{20} << 20);
  EXPECT_TRUE(here_->is_ready());
  // An end that isn't taken either is given up.
  here_->end(kStart);
  EXPECT_FALSE(here_->is_gone());
  here_->proceed(*here_->deadline());
  EXPECT_TRUE(here_->is_gone());
}

TEST_P(EachWay, WaitsForTheStreamOnlyIfSomethingIsToGo) {
  meet();
  const auto waits = [&] {
    std::vector<pollfd> found;
    here_->add_waits(found);
    return found;
  };
  EXPECT_EQ(waits().front().events, POLLIN);
  // Until the kernel's buffers are full, too, which may grow.
  do {
    while (here_->room() > 0) {
      (void)here_->write(some_bytes(100'000));
      here_->flush();
    }
    here_->flush();
  } while (here_->room() > 0 || poll(waits().data(), 1, 50) != 0);
  EXPECT_EQ(waits().front().events, POLLIN | POLLOUT);
  // The other end reads, and this one is woken: each time that something
  // comes, for what the kernel hands over at once may be too little to wake a
  // writer.
  std::vector<uint8_t> got;
  loop_.connections = {&*here_, &*there_};
  const size_t before = here_->outgoing_bytes();
  EXPECT_TRUE(loop_.run_until([&] {
    while (there_->read(got) > 0) continue;
    return here_->outgoing_bytes() < before;
  }));
  std::vector<pollfd> none;
  while (here_->outgoing_bytes() > 0) {
    (void)there_->read(got);
    here_->flush();
  }
  here_->add_waits(none, false);
  EXPECT_TRUE(none.empty());  // who doesn't want to read either isn't woken
}

TEST_P(EachWay, OneThatVanishesIsGone) {
  meet();
  (void)there_->write(some_bytes(100));
  there_->drop({"a test"});
  std::vector<uint8_t> got;
  EXPECT_TRUE(loop_.run_until([&] {
    (void)here_->read(got);
    return here_->is_gone();
  }));
  // Without a token nothing tells this from an end; nor does a front.
  const bool has_closed = here_->why() == "the other side closed the connection";
  EXPECT_EQ(has_closed, !GetParam().has_token || !GetParam().address.empty()) << here_->why();
  EXPECT_EQ(here_->write(some_bytes(1)), 0u);
  std::vector<pollfd> waits;
  here_->add_waits(waits);
  EXPECT_TRUE(waits.empty());
}

TEST(Channel, OfAnotherTokenIsRefused) {
  Listener listener = listen_at(":0", secured());
  Loop loop{&listener, {}, kStart};
  const Security wrong = newly_secured();
  for (int i = 0; i < 5; ++i) {
    Connection connection = connect_to(listener.address(), wrong);
    loop.connections = {&connection};
    const auto failed = loop.failed();
    ASSERT_TRUE(failed.has_value());
    EXPECT_TRUE(has(failed->why, "different token")) << failed->why;
    EXPECT_TRUE(has(failed->peer, "127.0.0.1:")) << failed->peer;
    EXPECT_TRUE(loop.run_until([&] { return connection.is_gone(); }));
    EXPECT_TRUE(has(connection.why(), "different token")) << connection.why();
  }
  // The right one needn't wait for that.
  for (int i = 0; i < 10; ++i) {
    Connection connection = connect_to(listener.address(), secured());
    loop.connections = {&connection};
    EXPECT_TRUE(loop.accepted().has_value()) << i;
  }
}

TEST(Channel, OfPairedKeysKnowEachOther) {
  const Paired paired;
  Listener listener = listen_at(":0", paired.of_target());
  Connection connection = connect_to(listener.address(), paired.of_host());
  Loop loop{&listener, {&connection}, kStart};
  const auto accepted = loop.accepted();
  ASSERT_TRUE(accepted.has_value()) << connection.why();
  EXPECT_TRUE(has(accepted->peer(), "(desk, SHA256:")) << accepted->peer();
  EXPECT_TRUE(loop.run_until([&] { return connection.is_ready(); }));
  EXPECT_TRUE(has(connection.peer(), "(127.0.0.1, SHA256:")) << connection.peer();
}

// The target goes to its host.
TEST(Channel, OfPairedKeysMeetTheOtherWayRound) {
  const Paired paired;
  Listener listener = listen_at(":0", paired.of_host());
  Connection connection = connect_to(listener.address(), paired.of_target());
  Loop loop{&listener, {&connection}, kStart};
  EXPECT_TRUE(loop.accepted().has_value()) << connection.why();
  EXPECT_TRUE(loop.run_until([&] { return connection.is_ready(); }));
}

// A board's key is that board's alone: it is no host's, and no other board's.
TEST(Channel, OfAKeyThatIsNotTrustedIsRefused) {
  const Paired paired;
  const Paired others;
  {
    Listener listener = listen_at(":0", paired.of_target());
    Connection connection = connect_to(listener.address(), Paired::of(paired.target, paired.target, "stolen"));
    Loop loop{&listener, {&connection}, kStart};
    const auto failed = loop.failed();
    ASSERT_TRUE(failed.has_value());
    EXPECT_TRUE(has(failed->why, "heaptap-target pair " + Fingerprint::of(paired.target.public_key()).to_text()))
        << failed->why;
    EXPECT_TRUE(loop.run_until([&] { return connection.is_gone(); }));
    EXPECT_TRUE(has(connection.why(), "doesn't know this side's key")) << connection.why();
  }
  // Another target answers, which would let this host in.
  Listener listener = listen_at(":0", Paired::of(others.target, paired.host, "desk"));
  Connection connection = connect_to(listener.address(), paired.of_host());
  Loop loop{&listener, {&connection}, kStart};
  EXPECT_TRUE(loop.run_until([&] { return connection.is_gone(); }));
  EXPECT_TRUE(has(connection.why(), "which is not a known key of this address")) << connection.why();
}

TEST(Channel, WithAndWithoutATokenSayWhatIsTheMatter) {
  for (const bool listener_has_token : {true, false}) {
    const Directory directory;
    Listener listener = listen_at(directory.file("s"), listener_has_token ? secured() : Security{});
    Connection connection = connect_to(listener.address(), listener_has_token ? Security{} : secured());
    Loop loop{&listener, {&connection}, kStart};
    const auto failed = loop.failed();
    ASSERT_TRUE(failed.has_value());
    EXPECT_TRUE(loop.run_until([&] { return connection.is_gone(); }));
    const std::string none = "the other side has no token";
    const std::string one = "the other side has a token";
    EXPECT_TRUE(has(failed->why, listener_has_token ? none : one)) << failed->why;
    EXPECT_TRUE(has(connection.why(), listener_has_token ? one : none)) << connection.why();
  }
}

TEST(Channel, OneThatSaysNothingIsDroppedAfterTenSeconds) {
  Listener listener = listen_at(":0", secured());
  Loop loop{&listener, {}, kStart};
  const base::UniqueFd silent = raw_connection(listener.address());
  ASSERT_TRUE(loop.run_until([&] { return listener.greeting_count() == 1; }));
  ASSERT_TRUE(listener.deadline().has_value());
  EXPECT_EQ(*listener.deadline(), kStart + seconds(10));
  listener.proceed(kStart + milliseconds(9'999));
  EXPECT_EQ(listener.greeting_count(), 1u);
  listener.proceed(kStart + seconds(10));
  EXPECT_EQ(listener.greeting_count(), 0u);
  EXPECT_TRUE(has(listener.next_failed()->why, "no greeting from the other side within 10 s"));
  EXPECT_FALSE(listener.deadline().has_value());
}

TEST(Channel, ManyThatSayNothingAreBounded) {
  Listener listener = listen_at(":0", secured());
  std::vector<base::UniqueFd> silent;
  for (int turn = 0; turn < 30; ++turn) {
    for (const char* from : {"127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.6"}) {
      silent.push_back(raw_connection(listener.address(), from));
    }
    listener.proceed(kStart);
    EXPECT_LE(listener.greeting_count(), Admission::kMaxHeard);
    EXPECT_LE(listener.waiting_count(), Admission::kMaxWaiting);
  }
  EXPECT_EQ(listener.greeting_count(), Admission::kMaxHeard);
  // The right one comes last, from elsewhere, and is heard before them.
  Connection right = connect_to(listener.address(), secured());
  Loop loop{&listener, {&right}, kStart + seconds(1)};
  EXPECT_TRUE(loop.accepted().has_value()) << right.why();
}

TEST(Channel, OneThatLeavesBeforeItGreetedIsReported) {
  Listener listener = listen_at(":0", secured());
  Loop loop{&listener, {}, kStart};
  raw_connection(listener.address()).reset();
  const auto failed = loop.failed();
  ASSERT_TRUE(failed.has_value());
  EXPECT_TRUE(has(failed->why, "closed the connection")) << failed->why;
}

TEST(Channel, ThoseSentAwayDoNotFillALog) {
  Listener listener = listen_at(":0", secured());
  for (int i = 0; i < 1'000; ++i) {
    raw_connection(listener.address()).reset();
    listener.proceed(kStart);
  }
  listener.proceed(kStart);
  size_t said = 0;
  while (listener.next_failed()) ++said;
  EXPECT_EQ(said, 5u);
}

TEST(Channel, FailuresThatNobodyAsksForAreCounted) {
  const Directory directory;
  Listener listener = listen_at(directory.file("s"), secured());  // without a front each hang-up is seen at once
  Time now = kStart;
  for (int i = 0; i < 100; ++i) {
    raw_connection(listener.address()).reset();
    listener.proceed(now += seconds(2));
  }
  size_t said = 0;
  while (listener.next_failed()) ++said;
  EXPECT_EQ(said, 64u);
  raw_connection(listener.address()).reset();
  listener.proceed(now += seconds(2));
  const auto last = listener.next_failed();
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->others, 36u);
}

TEST(Channel, OverTcpNeedsATokenOrKeysOnLoopbackAsWell) {
  for (const char* const text : {"0.0.0.0:0", "127.0.0.1:0", "[::1]:0"}) {
    const Address address = *parse_address(text);
    EXPECT_TRUE(has(why_not(Listener::listen(address, {}, {})), "no key or token for authentication")) << text;
    EXPECT_TRUE(Listener::listen(address, secured(), {}).has_value()) << text;
  }
  for (const char* const text : {"192.0.2.1:7", "127.0.0.1:7"}) {
    EXPECT_TRUE(
        has(why_not(Connection::connect(*parse_address(text), {}, {}, kStart)), "no key or token for authentication"))
        << text;
  }
  Security alone = Paired().of_target();
  alone.keys->trusted.clear();
  EXPECT_TRUE(has(why_not(Listener::listen(*parse_address(":0"), alone, {})), "no key of the other side is known"));
}

TEST(Channel, ThatCannotBeMadeSaysWhy) {
  EXPECT_TRUE(has(why_not(Connection::connect(*parse_address("board:7"), secured(), {}, kStart)), "is a host name"));
  EXPECT_TRUE(
      has(why_not(Connection::connect(*parse_address(":0"), secured(), {}, kStart)), "has no port to connect to"));
  EXPECT_TRUE(
      has(why_not(Connection::connect(*parse_address("/nonexistent/s"), {}, {}, kStart)), "nothing listens there"));
  EXPECT_TRUE(has(why_not(Listener::listen(*parse_address("board:7"), secured(), {})), "is a host name"));
  EXPECT_TRUE(has(why_not(Listener::listen(*parse_address("192.0.2.1:7"), secured(), {})), "`ip addr` lists"));
  EXPECT_TRUE(has(why_not(Listener::listen(*parse_address("/nonexistent/s"), {}, {})), "can't make the socket"));
  const Listener listener = listen_at(":0", secured());
  EXPECT_TRUE(has(why_not(Listener::listen(listener.address(), secured(), {})), "another process listens there"));
}

TEST(Channel, WhereNobodyListensIsGone) {
  const Address address = Listener(listen_at(":0", secured())).address();  // it ends at once
  Connection connection = connect_to(address, secured());
  Loop loop{nullptr, {&connection}, kStart};
  EXPECT_TRUE(loop.run_until([&] { return connection.is_gone(); }));
  EXPECT_TRUE(has(connection.why(), "nothing listens there: start the other side first")) << connection.why();
}

TEST(Channel, WhereNobodyAnswersIsGivenUp) {
  // With its backlog full the kernel lets others wait.
  const base::UniqueFd full(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto any = parse_address(":0")->to_socket();
  ASSERT_EQ(bind(full.get(), any->get(), any->bytes), 0);
  ASSERT_EQ(listen(full.get(), 0), 0);
  sockaddr_storage name{};
  socklen_t bytes = sizeof(name);
  ASSERT_EQ(getsockname(full.get(), reinterpret_cast<sockaddr*>(&name), &bytes), 0);
  const Address address = *Address::of_socket(reinterpret_cast<const sockaddr*>(&name));
  const base::UniqueFd first = raw_connection(address);
  Connection connection = connect_to(address, secured());
  connection.proceed(kStart + milliseconds(9'999));
  EXPECT_FALSE(connection.is_gone());
  EXPECT_EQ(*connection.deadline(), kStart + seconds(10));
  connection.proceed(kStart + seconds(10));
  EXPECT_TRUE(connection.is_gone());
  EXPECT_TRUE(has(connection.why(), "timed out")) << connection.why();
}

TEST(SocketFile, IsOfItsOwnerAlone) {
  const Directory directory;
  const mode_t before = umask(0);
  {
    const Listener listener = listen_at(directory.file("s"));
    struct stat facts{};
    ASSERT_EQ(lstat(directory.file("s").c_str(), &facts), 0);
    EXPECT_TRUE(S_ISSOCK(facts.st_mode));
    EXPECT_EQ(facts.st_mode & 07777U, 0600U);
  }
  umask(before);
  EXPECT_FALSE(std::filesystem::exists(directory.file("s")));
}

TEST(SocketFile, OfADeadProcessIsReplaced) {
  const Directory directory;
  test::ChildProcess child([&](int) {
    // It goes without cleaning up.
    const auto name = Address::of_file(directory.file("s"))->to_socket();
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(socket, name->get(), name->bytes) != 0 || listen(socket, 1) != 0) _exit(1);
  });
  ASSERT_EQ(child.wait(), 0);
  ASSERT_TRUE(std::filesystem::exists(directory.file("s")));
  Listener listener = listen_at(directory.file("s"));
  Connection connection = connect_to(listener.address());
  Loop loop{&listener, {&connection}, kStart};
  EXPECT_TRUE(loop.accepted().has_value());
}

TEST(SocketFile, OfSomebodyElseIsNeverRemoved) {
  const Directory directory;
  const auto why = [&](const std::string& name) {
    const auto again = Listener::listen(*parse_address(directory.file(name)), {}, {});
    EXPECT_TRUE(std::filesystem::exists(directory.file(name)));
    return why_not(again);
  };
  std::ofstream(directory.file("file")) << "text";
  EXPECT_TRUE(has(why("file"), "is not a socket"));
  {
    const Listener listener = listen_at(directory.file("alive"));
    EXPECT_TRUE(has(why("alive"), "another process is listening there"));
    // Renamed, and another one put in its place.
    std::filesystem::rename(directory.file("alive"), directory.file("moved"));
    std::ofstream(directory.file("alive")) << "text";
  }
  EXPECT_TRUE(std::filesystem::exists(directory.file("alive")));

  const Listener listener = listen_at(directory.file("another"));
  if (geteuid() != 0 || chown(directory.file("another").c_str(), 65534, 65534) != 0) GTEST_SKIP() << "needs root";
  EXPECT_TRUE(has(why("another"), "the socket belongs to another user"));
}

// As a user's file: both directions of not believing another user, though the file's mode would let it in.
TEST(SocketFile, AnotherUserIsRefusedByEachListener) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  constexpr uid_t kOne = 65533;
  constexpr uid_t kOther = 65534;
  const Directory directory;
  std::filesystem::permissions(directory.file("."), std::filesystem::perms::all);
  // In a child: users are those of a whole process.
  test::ChildProcess child([&](int) {
    int failures = 0;
    const auto as_user = [&](uid_t user) { failures += seteuid(0) == 0 && seteuid(user) == 0 ? 0 : 1; };
    as_user(kOne);
    Listener listener = listen_at(directory.file("s"));
    as_user(0);
    std::filesystem::permissions(directory.file("s"), std::filesystem::perms::all);
    // The one who connects sees who listens,
    as_user(kOther);
    const auto connection = Connection::connect(listener.address(), {}, {}, kStart);
    failures += connection && connection->is_gone() && has(connection->why(), "another user listens there") ? 0 : 1;
    // and if it doesn't care, the one who listens sees who connects.
    const base::UniqueFd raw = raw_connection(listener.address());
    as_user(kOne);
    for (int i = 0; i < 2; ++i) {
      listener.proceed(kStart);
      const auto failed = listener.next_failed();
      failures += failed && failed->peer == "user 65534" && has(failed->why, "other users may not connect") ? 0 : 1;
    }
    char byte = 0;
    failures += read(raw.get(), &byte, 1) == 0 ? 0 : 1;
    // Root believes it as little.
    as_user(0);
    const auto roots = Connection::connect(listener.address(), {}, {}, kStart);
    failures += roots && roots->is_gone() && has(roots->why(), "another user listens there") ? 0 : 1;
    _exit(failures);
  });
  EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace heaptap::channel
