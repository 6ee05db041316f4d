// Client of a symbol server. Connects on the first request and waits for a bounded time. Once the server was gone, late or wrong it is
// never asked again, and that is reported once. One thread at a time.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "analysis/symbols/name_source.h"
#include "common/base/result.h"
#include "common/channel/address.h"
#include "common/channel/connection.h"
#include "common/channel/listener.h"
#include "common/channel/security.h"
#include "common/message/common_messages.h"
#include "common/message/message.h"
#include "common/model/row_table.h"

namespace heaptap::symbol_server {

struct ClientOptions {
  std::string name;  // of the server, for messages
  std::vector<channel::Address> addresses;
  std::shared_ptr<channel::Listener> listener = {};  // for a server that connects to us; else we connect to `addresses`
  channel::Security security;
  std::function<void(const base::Error&)> tell = {};  // why nothing more comes from the server; called once
  std::function<bool()> is_interrupted = {};          // polled while waiting: true ends the wait
  std::chrono::milliseconds connecting{5'000};
  std::chrono::milliseconds answer{20'000};   // per request
  std::chrono::milliseconds in_all{120'000};  // total time spent waiting for answers
};

class Client : public symbols::NameSource {
 public:
  explicit Client(ClientOptions options);
  ~Client() override;

  symbols::SymbolLevel level_of(const std::string& build_id) override;
  std::vector<std::vector<model::Frame>> frames_at(const std::string& build_id,
                                                   std::span<const uint64_t> addresses) override;
  std::optional<symbols::Variable> variable_at(const std::string& build_id, uint64_t address,
                                               bool is_thread_local) override;
  // Unwind rows; see elf::make_rows(). Empty: the server has none.
  model::RowTable rows_of(const std::string& build_id, std::optional<uint64_t> wanted);

  [[nodiscard]] bool is_given_up() const { return is_given_up_; }

 private:
  base::Result<message::Fields> ask(message::Number kind, message::Fields fields);
  base::Result<> connect();
  base::Result<> await_server();
  base::Result<> say_hello(channel::Time until);
  void look_at_connection();
  base::Result<message::Message> next_message(channel::Time until);
  base::Result<> exchange(channel::Time until);
  base::Result<> send(const message::Message& message, channel::Time until);
  std::optional<message::Fields> ask_or_give_up(message::Number kind, message::Fields fields);
  void give_up(const base::Error& why);

  ClientOptions options_;
  std::mutex mutex_;  // a reporting thread and one that fetches rows share the client
  std::optional<channel::Connection> connection_;
  message::MessageReader reader_{message::kMaxAnswerBytes};
  uint64_t last_number_ = 0;
  std::chrono::nanoseconds waited_{0};
  bool is_given_up_ = false;
  std::map<std::string, symbols::SymbolLevel> levels_;
};

}  // namespace heaptap::symbol_server
