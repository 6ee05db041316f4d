// A server and its clients in one program, over a UNIX socket; and what is no server, or no client.
#include "analysis/symbol_server/server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "analysis/symbol_server/client.h"
#include "analysis/symbol_server/file_index.h"
#include "analysis/symbol_server/name_bytes.h"
#include "capture/elf/object_file.h"
#include "common/message/common_messages.h"

namespace heaptap::symbol_server {
namespace {

namespace fs = std::filesystem;
using message::Fields;
using message::Message;
using symbols::SymbolLevel;
using namespace std::chrono_literals;

std::string own_id() {
  const base::UniqueFd file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const auto id = elf::read_build_id(elf::FileBytes(file.get()));
  return {id.begin(), id.end()};
}

// This program itself, whatever is asked for by its name.
class OwnFile : public symbols::FileProvider {
 public:
  std::vector<base::UniqueFd> files_of(const std::string& build_id) override {
    std::vector<base::UniqueFd> files;
    if (build_id == own_id()) files.emplace_back(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    return files;
  }
};

// Addresses of functions in the file.
std::vector<uint64_t> some_addresses() {
  const base::UniqueFd file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const elf::FileBytes bytes(file.get());
  std::vector<uint64_t> addresses;
  const auto own = elf::ElfHeaders::read(bytes);
  for (const elf::ElfSegment& segment : own->segments()) {
    if (segment.type != 1 || (segment.flags & 1) == 0) continue;
    for (uint64_t at = 0; at < segment.memory_bytes; at += 97) addresses.push_back(segment.address + at);
  }
  addresses.push_back(0);
  addresses.push_back(UINT64_MAX);
  return addresses;
}

Message request(message::Number kind, uint64_t number, Fields fields = {}) { return {kind, number, std::move(fields)}; }

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    std::string name = "/tmp/heaptap-test-XXXXXX";
    directory_ = mkdtemp(name.data());
    path_ = (directory_ / "socket").string();
  }
  ~ServerTest() override {
    server_thread_ = {};
    fs::remove_all(directory_);
  }

  [[nodiscard]] channel::Address address() const { return *channel::Address::of_file(path_); }

  void serve() {
    auto listener = channel::Listener::listen(address(), {}, {});
    ASSERT_TRUE(listener) << listener.error().message;
    server_thread_ = std::jthread(
        [this, listener = std::make_shared<channel::Listener>(*std::move(listener))](const std::stop_token& stop) {
          Answers answers(files_);
          Server server(std::move(*listener), answers);
          while (!stop.stop_requested()) {
            std::vector<pollfd> waits;
            server.add_waits(waits);
            poll(waits.data(), waits.size(), 5);
            server.proceed(channel::Clock::now());
            clients_ = server.client_count();
          }
        });
  }

  // A server that says this to each client, in place of an answer.
  void lie(const std::string& answer) {
    auto listener = channel::Listener::listen(address(), {}, {});
    ASSERT_TRUE(listener);
    server_thread_ = std::jthread(
        [answer, listener = std::make_shared<channel::Listener>(*std::move(listener))](const std::stop_token& stop) {
          std::vector<channel::Connection> connections;
          const std::string words = message::encode(message::hello()) + answer;
          while (!stop.stop_requested()) {
            std::vector<pollfd> waits;
            listener->add_waits(waits);
            poll(waits.data(), waits.size(), 5);
            listener->proceed(channel::Clock::now());
            while (auto connection = listener->next()) {
              connections.push_back(*std::move(connection));
              connections.back().write({reinterpret_cast<const uint8_t*>(words.data()), words.size()});
            }
            for (channel::Connection& each : connections) each.proceed(channel::Clock::now());
          }
        });
  }

  ClientOptions options() {
    return {.name = "the test's", .addresses = {address()}, .security = {}, .tell = [this](const base::Error& why) {
              told_.push_back(why.message);
            }};
  }

  fs::path directory_;
  std::string path_;
  OwnFile files_;
  std::vector<std::string> told_;
  std::atomic<size_t> clients_ = 0;
  std::jthread server_thread_;
};

TEST_F(ServerTest, TellsWhatTheFileTells) {
  serve();
  Client client(options());
  symbols::ModuleNames own(files_, own_id());
  EXPECT_EQ(client.level_of(own_id()), own.level());
  EXPECT_GE(own.level(), SymbolLevel::kNames);
  EXPECT_EQ(client.level_of("nobody's"), SymbolLevel::kNothing);
  const std::vector<uint64_t> addresses = some_addresses();
  const auto all = client.frames_at(own_id(), addresses);
  ASSERT_EQ(all.size(), addresses.size());
  size_t named = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto wanted = own.frames_at(addresses[i]);
    ASSERT_EQ(all[i].size(), wanted.size());
    for (size_t j = 0; j < wanted.size(); ++j) {
      EXPECT_EQ(all[i][j].function, wanted[j].function);
      EXPECT_EQ(all[i][j].symbol, wanted[j].symbol);
      EXPECT_EQ(all[i][j].file, wanted[j].file);
      EXPECT_EQ(all[i][j].line, wanted[j].line);
      EXPECT_EQ(all[i][j].inlined, wanted[j].inlined);
      named += wanted[j].function.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(named, addresses.size() / 2);
  EXPECT_TRUE(client.frames_at("nobody's", addresses).empty());
  EXPECT_FALSE(client.variable_at("nobody's", 1, false));
  EXPECT_TRUE(client.rows_of("nobody's", 1).empty());
  EXPECT_TRUE(told_.empty());
}

TEST_F(ServerTest, GivesRowsOfWhatIsMissed) {
  serve();
  Client client(options());
  const uint64_t inside = some_addresses()[some_addresses().size() / 2];
  const model::RowTable rows = client.rows_of(own_id(), inside);
  EXPECT_NE(rows.row_at(inside), 0u);
}

TEST_F(ServerTest, AServerThatIsGoneIsToldOnceAndNotAskedAgain) {
  Client client(options());
  EXPECT_EQ(client.level_of(own_id()), SymbolLevel::kNothing);
  EXPECT_TRUE(client.frames_at(own_id(), std::vector<uint64_t>{1, 2}).empty());
  EXPECT_TRUE(client.is_given_up());
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_NE(told_[0].find("the test's"), std::string::npos);
}

TEST_F(ServerTest, AServerThatEndsLeavesWhatItTold) {
  serve();
  Client client(options());
  ASSERT_EQ(client.frames_at(own_id(), std::vector<uint64_t>{1}).size(), 1u);
  server_thread_ = {};
  EXPECT_TRUE(client.frames_at(own_id(), std::vector<uint64_t>{2}).empty());
  EXPECT_EQ(told_.size(), 1u);
}

TEST_F(ServerTest, AServerThatHungUpIsConnectedToAnew) {
  serve();
  Client client(options());
  ASSERT_EQ(client.frames_at(own_id(), std::vector<uint64_t>{1}).size(), 1u);
  server_thread_ = {};
  serve();
  EXPECT_EQ(client.frames_at(own_id(), std::vector<uint64_t>{2}).size(), 1u);
  EXPECT_TRUE(told_.empty());
}

TEST_F(ServerTest, AServerThatSaysNothingIsNotWaitedForLong) {
  lie("");
  ClientOptions impatient = options();
  impatient.answer = 50ms;
  Client client(impatient);
  EXPECT_EQ(client.level_of(own_id()), SymbolLevel::kNothing);
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_NE(told_[0].find("in time"), std::string::npos);
}

TEST_F(ServerTest, AServerThatLiesIsNotBelieved) {
  Fields wrong_level;
  Fields entry;
  entry.add(Field::kLevel, uint64_t{200});
  wrong_level.add(Field::kEntry, entry);
  Fields text;
  text.add(Field::kFrames, "\xff\xff\xff\xff\x0f");
  for (const std::string& answer :
       {message::encode(request(message::CommonKind::kAnswer, 1, wrong_level)),
        message::encode(request(message::CommonKind::kAnswer, 77)),
        message::encode(request(message::CommonKind::kHello, 1)),
        message::encode(request(message::CommonKind::kAnswer, 1)),
        message::encode(request(message::CommonKind::kRefusal, 1)), std::string("\xff\xff\xff\xff nonsense"),
        std::string(100, '\0'), message::encode(request(message::CommonKind::kAnswer, 1, text))}) {
    told_.clear();
    lie(answer);
    ClientOptions impatient = options();
    impatient.answer = 200ms;  // of those that say one thing and no more
    Client client(impatient);
    EXPECT_TRUE(client.frames_at(own_id(), std::vector<uint64_t>{1, 2}).empty());
    (void)client.level_of(own_id());
    EXPECT_LE(told_.size(), 1u);
    server_thread_ = {};
  }
}

TEST_F(ServerTest, ClientsThatSayNonsenseAreDroppedAndOthersServed) {
  serve();
  std::mt19937_64 random(1);
  Client honest(options());
  for (int round = 0; round < 50; ++round) {
    auto connection = channel::Connection::connect(address(), {}, {}, channel::Clock::now());
    ASSERT_TRUE(connection);
    while (!connection->is_ready() && !connection->is_gone()) {
      std::vector<pollfd> waits;
      connection->add_waits(waits);
      poll(waits.data(), waits.size(), 5);
      connection->proceed(channel::Clock::now());
    }
    std::string words = round % 2 == 0 ? message::encode(message::hello()) : "";
    for (int i = 0; i < 100; ++i) words += static_cast<char>(random());
    connection->write({reinterpret_cast<const uint8_t*>(words.data()), words.size()});
    connection->flush();
    EXPECT_EQ(honest.frames_at(own_id(), std::vector<uint64_t>{static_cast<uint64_t>(round)}).size(), 1u);
  }
  EXPECT_TRUE(told_.empty());
}

TEST_F(ServerTest, MoreClientsThanItTakesDontStopIt) {
  serve();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(std::make_unique<Client>(options()));
    EXPECT_NE(clients.back()->level_of(own_id()), SymbolLevel::kNothing);
  }
  EXPECT_GE(clients_, 20u);
}

TEST(AnswersTest, RequestsThatMakeNoSenseAreRefused) {
  OwnFile files;
  Answers answers(files);
  Fields id;
  id.add(Field::kBuildId, own_id());
  Fields damaged = id;
  damaged.add(Field::kAddresses, "\xff\xff");
  Fields large;
  large.add(Field::kBuildId, std::string(65, 'x'));
  EXPECT_FALSE(answers.answer(request(Kind::kSymbolLevels, 1)));
  EXPECT_FALSE(answers.answer(request(Kind::kSymbolLevels, 1, large)));
  EXPECT_FALSE(answers.answer(request(Kind::kFramesAt, 1)));
  EXPECT_FALSE(answers.answer(request(Kind::kFramesAt, 1, id)));
  EXPECT_FALSE(answers.answer(request(Kind::kFramesAt, 1, damaged)));
  EXPECT_FALSE(answers.answer(request(Kind::kVariableAt, 1, id)));
  EXPECT_FALSE(answers.answer(request(Kind::kRowsOf, 1, large)));
  EXPECT_FALSE(answers.answer(request(message::Number(28), 1, id)));
  EXPECT_FALSE(answers.answer(request(message::Number(70), 1, id)));
}

TEST(AnswersTest, ARowOfOneAddressIsGivenAlone) {
  OwnFile files;
  Answers answers(files);
  const uint64_t inside = some_addresses()[some_addresses().size() / 2];
  Fields fields;
  fields.add(Field::kBuildId, own_id());
  fields.add(Field::kAddress, inside);
  const auto answer = answers.answer(request(Kind::kRowsOf, 1, fields));
  ASSERT_TRUE(answer);
  EXPECT_NE(answer->number_or_0(Field::kRow), 0u);
  EXPECT_FALSE(answer->text(Field::kRows));
}

}  // namespace
}  // namespace heaptap::symbol_server
