// Client of the control protocol: sends requests, and waits for answers. Single-threaded.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/endpoint/address.h"
#include "common/message/common_messages.h"
#include "common/message/message.h"

namespace heaptap::client {

struct Answer {
  message::Fields fields;
  base::UniqueFd file;  // received with the answer, or before it; one that came with the answer is preferred
};

class Client {
 public:
  // Connects to the recording of a process; or to a socket file.
  static base::Result<std::unique_ptr<Client>> connect(const endpoint::ProcessName& process);
  static base::Result<std::unique_ptr<Client>> connect(const std::string& socket_path);

  // Waits for the answer: scans take long, so it is bounded only by the connection's lifetime, and `give_up`.
  base::Result<Answer> ask(message::Number request, const message::Fields& fields);

  // Called whenever a signal interrupts a wait: true ends it with an error. The request is executed nevertheless.
  void set_give_up(std::function<bool()> give_up) { give_up_ = std::move(give_up); }

  // Queued news. Reads available data without waiting.
  std::optional<message::Fields> next_news();
  [[nodiscard]] int descriptor() const { return connection_.get(); }
  [[nodiscard]] bool is_connected() const { return is_connected_; }

 private:
  Client(base::UniqueFd connection, std::string name) : connection_(std::move(connection)), name_(std::move(name)) {}
  base::Result<> greet();
  // Reads bytes; `waits` for some.
  base::Result<> read(bool waits);
  base::Result<> send(const message::Message& message);
  [[nodiscard]] std::unexpected<base::Error> lost(const base::Error& why);

  base::UniqueFd connection_;
  std::string name_;  // of the recording, for error messages
  message::MessageReader reader_{message::kMaxAnswerBytes};
  std::deque<message::Fields> news_;
  base::UniqueFd file_;  // the last one received
  uint64_t last_number_ = 0;
  std::function<bool()> give_up_;
  bool is_connected_ = true;
};

}  // namespace heaptap::client
