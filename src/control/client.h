// A client's end of the control protocol: asks, and waits for the answer. One thread.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "control/address.h"
#include "control/message.h"

namespace heaptap::control {

struct Answer {
  Fields fields;
  base::UniqueFd file;  // that came with it, or before it: of an answer that has one it is that one
};

class Client {
 public:
  // The recording of a process; of a socket file.
  static base::Result<std::unique_ptr<Client>> connect(const ProcessName& process);
  static base::Result<std::unique_ptr<Client>> connect(const std::string& socket_path);

  // Waits for the answer: scans take their time, so there is no bound but the connection's life, and `give_up`.
  base::Result<Answer> ask(Kind request, const Fields& fields);

  // Asked whenever a signal interrupts a wait: true ends it with an error. The request is carried out all the same.
  void set_give_up(std::function<bool()> give_up) { give_up_ = std::move(give_up); }

  // News that came meanwhile. Reads what is there, without waiting.
  std::optional<Fields> next_news();
  [[nodiscard]] int descriptor() const { return connection_.get(); }
  [[nodiscard]] bool is_connected() const { return is_connected_; }

 private:
  Client(base::UniqueFd connection, std::string name) : connection_(std::move(connection)), name_(std::move(name)) {}
  base::Result<> greet();
  // Takes bytes; `waits` for some.
  base::Result<> read(bool waits);
  base::Result<> send(const Message& message);
  [[nodiscard]] std::unexpected<base::Error> lost(const base::Error& why);

  base::UniqueFd connection_;
  std::string name_;  // of the recording, for errors
  MessageReader reader_{kMaxAnswerBytes};
  std::deque<Fields> news_;
  base::UniqueFd file_;  // that came last
  uint64_t last_number_ = 0;
  std::function<bool()> give_up_;
  bool is_connected_ = true;
};

}  // namespace heaptap::control
