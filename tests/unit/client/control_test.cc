// The control protocol: what a client asks is answered, whatever others say, don't read, or send.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <random>
#include <string>
#include <thread>

#include "common/control/control_messages.h"
#include "common/endpoint/address.h"
#include "common/endpoint/process_socket.h"
#include "common/endpoint/socket_file.h"
#include "common/message/common_messages.h"
#include "common/message/message.h"
#include "record/recordings/server.h"
#include "views/client/client.h"
#include "views/client/recorder.h"

namespace heaptap::client {
namespace {

TEST(Message, KeepsItsFields) {
  message::Message message{.kind = control::Kind::kMark, .number = 77, .fields = {}};
  message.fields.add(control::Field::kName, "before the request");
  message.fields.add(control::Field::kPid, uint64_t{1} << 40);
  message.fields.add(control::Field::kArgument, "a");
  message.fields.add(control::Field::kArgument, std::string_view("\0b", 2));
  message::Fields entry;
  entry.add(control::Field::kNumber, uint64_t{5});
  message.fields.add(control::Field::kEntry, entry);
  message::MessageReader reader(1000);
  for (const char byte : message::encode(message)) {
    EXPECT_FALSE(reader.next().has_value());
    reader.add({&byte, 1});
  }
  const auto read = reader.next();
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->kind, control::Kind::kMark);
  EXPECT_EQ(read->number, 77u);
  EXPECT_EQ(read->fields.text(control::Field::kName), "before the request");
  EXPECT_EQ(read->fields.number(control::Field::kPid), uint64_t{1} << 40);
  EXPECT_EQ(read->fields.small_number(control::Field::kPid), 0u);
  EXPECT_EQ(read->fields.texts(control::Field::kArgument),
            (std::vector<std::string_view>{"a", std::string_view("\0b", 2)}));
  EXPECT_EQ(message::Fields::read(*read->fields.text(control::Field::kEntry))->number(control::Field::kNumber), 5u);
  EXPECT_FALSE(read->fields.number(control::Field::kDepth).has_value());
  EXPECT_FALSE(reader.next().has_value());
  EXPECT_TRUE(reader.is_sound());
}

TEST(Message, WhatIsNoneEndsTheReading) {
  const std::string sound = message::encode(message::hello());
  const std::array<std::string, 5> none = {
      std::string("\xff\xff\xff\x7f", 4),                        // longer than any may be
      std::string("\x02\x00\x00\x00\x01", 5) + "\x80",           // a number that doesn't end
      std::string("\x00\x00\x00\x00", 4),                        // without a kind
      std::string("\x05\x00\x00\x00\x01\x00\x03\x7f", 8) + "a",  // a field that goes beyond its message
      std::string("\x04\x00\x00\x00\xff\xff\x01\x00", 8),        // a kind that no byte holds
  };
  for (const std::string& bytes : none) {
    message::MessageReader reader(message::kMaxRequestBytes);
    reader.add(sound);
    reader.add(bytes);
    reader.add(sound);
    EXPECT_TRUE(reader.next().has_value());
    EXPECT_FALSE(reader.next().has_value());
    EXPECT_FALSE(reader.is_sound());
    EXPECT_FALSE(reader.next().has_value());
  }
}

// A recorder in a thread of its own, which answers a mark with its name, and refuses all else.
class ControlTest : public testing::Test {
 protected:
  ControlTest() : listening_(endpoint::ProcessSocket::create(getpid())) {
    EXPECT_TRUE(listening_.has_value());
    EXPECT_EQ(pipe2(stop_.data(), O_CLOEXEC), 0);
    recorder_ = std::thread([this] { serve(); });
  }
  ~ControlTest() override {
    close_writer();
    recorder_.join();
    ::close(stop_[0]);
  }

  void close_writer() { ::close(stop_[1]); }

  void serve() {
    while (true) {
      std::vector<pollfd> waits{{stop_[0], POLLIN, 0}};
      for (const int socket : listening_->descriptors()) waits.push_back({socket, POLLIN, 0});
      server_.add_waits(waits);
      poll(waits.data(), waits.size(), -1);
      if (waits[0].revents != 0) return;
      for (const int socket : listening_->descriptors()) server_.accept_from(socket);
      while (const auto request = server_.next_request()) answer(*request);
    }
  }

  void answer(const recordings::Server::Request& request) {
    const message::Message& message = request.message;
    if (message.kind == control::Kind::kSubscribe) server_.subscribe(request.client);
    if (message.kind == control::Kind::kSnapshot) {
      const base::UniqueFd file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
      return server_.answer(request.client, message.number, message.fields, file.get());
    }
    if (message.kind != control::Kind::kMark && message.kind != control::Kind::kSubscribe) {
      return server_.refuse(request.client, message.number, {"no such request", base::ErrorKind::kUsage});
    }
    if (message.kind == control::Kind::kMark) server_.tell(message.fields);
    server_.answer(request.client, message.number, message.fields);
  }

  static std::unique_ptr<Client> connected() {
    auto client = Client::connect(getpid());
    EXPECT_TRUE(client.has_value()) << client.error().message;
    return client ? std::move(*client) : nullptr;
  }

  static std::string marked(Client& client, const std::string& name) {
    message::Fields fields;
    fields.add(control::Field::kName, name);
    const auto answer = client.ask(control::Kind::kMark, fields);
    return answer ? answer->fields.text_or_empty(control::Field::kName) : "error: " + answer.error().message;
  }

  // One that says what it likes.
  static base::UniqueFd raw_connection() {
    base::UniqueFd connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const endpoint::Address address = *endpoint::address_of_process(getpid());
    EXPECT_EQ(connect(connection.get(), reinterpret_cast<const sockaddr*>(&address.name), address.bytes), 0);
    return connection;
  }
  static bool say(const base::UniqueFd& connection, const std::string& bytes) {
    return send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }

  base::Result<endpoint::ProcessSocket> listening_;
  std::array<int, 2> stop_{};
  recordings::Server server_;
  std::thread recorder_;
};

TEST_F(ControlTest, RequestsAreAnsweredAndRefused) {
  const auto client = connected();
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(marked(*client, "one"), "one");
  const auto refused = client->ask(control::Kind::kDepth, {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, "no such request");
  EXPECT_EQ(refused.error().kind, base::ErrorKind::kUsage);
  EXPECT_EQ(marked(*client, std::string(60'000, 'x')).size(), 60'000u);
  EXPECT_TRUE(client->is_connected());
}

TEST_F(ControlTest, AFileComesWithItsAnswer) {
  const auto client = connected();
  ASSERT_NE(client, nullptr);
  for (int i = 0; i < 3; ++i) {
    const auto answer = client->ask(control::Kind::kSnapshot, {});
    ASSERT_TRUE(answer.has_value());
    struct stat got{};
    struct stat own{};
    ASSERT_EQ(fstat(answer->file.get(), &got), 0);
    ASSERT_EQ(stat("/proc/self/exe", &own), 0);
    EXPECT_EQ(got.st_ino, own.st_ino);
  }
  EXPECT_EQ(marked(*client, "none with this"), "none with this");
}

// What comes at one time with an answer and its file takes nothing from it.
TEST_F(ControlTest, AFileComesBehindNews) {
  const auto client = connected();
  const auto other = connected();
  ASSERT_TRUE(client->ask(control::Kind::kSubscribe, {}).has_value());
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(marked(*other, "mark"), "mark");
    const auto answer = client->ask(control::Kind::kSnapshot, {});
    ASSERT_TRUE(answer.has_value());
    ASSERT_TRUE(static_cast<bool>(answer->file)) << i;
  }
}

TEST_F(ControlTest, NewsComeToThoseWhoAskedForThem) {
  const auto listener = connected();
  const auto other = connected();
  ASSERT_TRUE(listener->ask(control::Kind::kSubscribe, {}).has_value());
  for (int i = 0; i < 50; ++i) EXPECT_EQ(marked(*other, "mark " + std::to_string(i)), "mark " + std::to_string(i));
  EXPECT_EQ(marked(*listener, "own"), "own");  // news before its answer aren't lost
  for (int i = 0; i < 50; ++i) {
    const auto news = listener->next_news();
    ASSERT_TRUE(news.has_value());
    EXPECT_EQ(news->text_or_empty(control::Field::kName), "mark " + std::to_string(i));
  }
  EXPECT_EQ(listener->next_news()->text_or_empty(control::Field::kName), "own");
  EXPECT_FALSE(listener->next_news().has_value());
  EXPECT_FALSE(other->next_news().has_value());
}

TEST_F(ControlTest, MalformedRequestsEndTheirConnectionAlone) {
  const auto client = connected();
  std::mt19937_64 random(11);
  const std::string sound = message::encode(message::hello()) + message::encode({control::Kind::kMark, 1, {}});
  for (int i = 0; i < 10'000; ++i) {
    const base::UniqueFd connection = raw_connection();
    std::string bytes = sound;
    for (unsigned change = 0; change <= random() % 4; ++change) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    bytes.resize(random() % (bytes.size() + 1));
    if (random() % 3 == 0) {
      for (int more = 0; more < 100; ++more) bytes += static_cast<char>(random());
    }
    (void)say(connection, bytes);
    if (i % 500 == 0) {
      ASSERT_EQ(marked(*client, "still there"), "still there");
    }
  }
  EXPECT_EQ(marked(*client, "still there"), "still there");
}

// Its answers fill what a socket holds, and then what is kept for it.
TEST_F(ControlTest, OneThatDoesNotReadIsDropped) {
  const auto client = connected();
  const base::UniqueFd deaf = raw_connection();
  ASSERT_TRUE(say(deaf, message::encode(message::hello())));
  message::Message request{control::Kind::kMark, 1, {}};
  request.fields.add(control::Field::kName, std::string(30'000, 'n'));
  const std::string bytes = message::encode(request);
  bool is_dropped = false;
  for (int i = 0; i < 1000 && !is_dropped; ++i) is_dropped = !say(deaf, bytes);
  EXPECT_TRUE(is_dropped);
  EXPECT_EQ(marked(*client, "still there"), "still there");
}

TEST_F(ControlTest, ThoseWhoSayNothingGiveWay) {
  const auto client = connected();
  EXPECT_EQ(marked(*client, "first"), "first");
  std::vector<base::UniqueFd> silent;
  for (int i = 0; i < 31; ++i) silent.push_back(raw_connection());
  EXPECT_EQ(marked(*client, "second"), "second");
  for (int i = 0; i < 200; ++i) {
    silent.push_back(raw_connection());
    if (i % 20 == 0) {
      ASSERT_EQ(marked(*client, "again"), "again");
    }
  }
  EXPECT_EQ(marked(*client, "third"), "third");
}

// What it asked for before it went is done.
TEST_F(ControlTest, OneThatHasSaidItsLastIsAnswered) {
  const base::UniqueFd connection = raw_connection();
  ASSERT_TRUE(say(connection, message::encode(message::hello()) + message::encode({control::Kind::kMark, 9, {}})));
  ASSERT_EQ(shutdown(connection.get(), SHUT_WR), 0);
  message::MessageReader reader(message::kMaxAnswerBytes);
  std::array<char, 4096> piece{};
  for (ssize_t bytes = 0; (bytes = recv(connection.get(), piece.data(), piece.size(), 0)) > 0;) {
    reader.add({piece.data(), static_cast<size_t>(bytes)});
  }
  EXPECT_EQ(reader.next()->kind, message::CommonKind::kHello);
  const auto answer = reader.next();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->number, 9u);
}

TEST_F(ControlTest, AnotherVersionIsNotSpokenWith) {
  const base::UniqueFd connection = raw_connection();
  message::Message other{message::CommonKind::kHello, 0, {}};
  other.fields.add(message::CommonField::kMajor, uint64_t{message::kMajorVersion + 1});
  ASSERT_TRUE(say(connection, message::encode(other)));
  std::array<char, 4096> piece{};
  ssize_t bytes = 0;
  do {
    bytes = recv(connection.get(), piece.data(), piece.size(), 0);
  } while (bytes > 0);
  EXPECT_LE(bytes, 0);  // closed
}

TEST(ControlAddress, NobodyThereIsSaid) {
  const auto client = Client::connect(getppid());
  ASSERT_FALSE(client.has_value());
  EXPECT_NE(client.error().message.find("is not being recorded"), std::string::npos) << client.error().message;
  EXPECT_FALSE(reach_recorder(getppid()).has_value());
}

TEST(ControlAddress, TheSocketFileIsForItsUserAlone) {
  std::string path;
  {
    const auto file = endpoint::SocketFile::create(getpid());
    ASSERT_TRUE(file.has_value()) << file.error().message;
    path = file->path();
    struct stat facts{};
    ASSERT_EQ(stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600u);
    ASSERT_EQ(stat(std::filesystem::path(path).parent_path().c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0077, 0u);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ControlAddress, ADirectoryOfOthersIsNotUsed) {
  const std::string directory = testing::TempDir() + "runtime." + std::to_string(getpid());
  std::filesystem::create_directory(directory);
  ASSERT_EQ(chmod(directory.c_str(), 0777), 0);
  ASSERT_EQ(setenv("XDG_RUNTIME_DIR", directory.c_str(), 1), 0);
  const auto file = endpoint::SocketFile::create(getpid());
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_FALSE(file->path().starts_with(directory)) << file->path();
  ASSERT_EQ(chmod(directory.c_str(), 0700), 0);
  const auto own = endpoint::SocketFile::create(getpid());
  ASSERT_TRUE(own.has_value());
  EXPECT_TRUE(own->path().starts_with(directory)) << own->path();
  unsetenv("XDG_RUNTIME_DIR");
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace heaptap::client
