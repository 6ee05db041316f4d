#include "views/client/program_names.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "common/control/control_messages.h"
#include "common/message/common_messages.h"
#include "common/message/message.h"

namespace heaptap::client {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kRequest = 1;

// One question that was sent.
class Pending {
 public:
  explicit Pending(const NameQuestion& question) : pid_(question.pid), descriptor_(question.connection.get()) {
    const std::string bytes =
        message::encode(message::hello()) + message::encode({control::Kind::kProcesses, kRequest, {}});
    // Small: it fits into the socket, or nothing of it does.
    const ssize_t sent = send(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    is_done_ = sent != static_cast<ssize_t>(bytes.size());
  }

  [[nodiscard]] bool is_done() const { return is_done_; }
  [[nodiscard]] pollfd wait() const { return {is_done_ ? -1 : descriptor_, POLLIN, 0}; }
  [[nodiscard]] const std::optional<std::string>& name() const { return name_; }

  // Takes what has arrived.
  void take() {
    constexpr size_t kPieceBytes = size_t{16} << 10;
    std::array<char, kPieceBytes> piece;
    const ssize_t bytes = recv(descriptor_, piece.data(), piece.size(), MSG_DONTWAIT);
    if (bytes < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (bytes <= 0) {
      is_done_ = true;
      return;
    }
    reader_.add({piece.data(), static_cast<size_t>(bytes)});
    while (const auto message = reader_.next()) take(*message);
    if (!reader_.is_sound()) is_done_ = true;
  }

 private:
  void take(const message::Message& message) {
    const bool is_of_other_version =
        message.kind == message::CommonKind::kHello && !message::is_hello_of_this_version(message);
    const bool is_answer = message.kind == message::CommonKind::kAnswer && message.number == kRequest;
    const bool is_refusal = message.kind == message::CommonKind::kRefusal && message.number == kRequest;
    if (is_done_ || (!is_of_other_version && !is_answer && !is_refusal)) return;
    is_done_ = true;
    name_ = "";
    if (!is_answer) return;
    for (control::Process& each : control::decode_processes(message.fields)) {
      if (each.pid == pid_) name_ = std::move(each.program);  // the last one is the current program
    }
  }

  uint32_t pid_;
  int descriptor_;
  message::MessageReader reader_{message::kMaxAnswerBytes};
  std::optional<std::string> name_;
  bool is_done_ = false;
};

}  // namespace

std::vector<std::optional<std::string>> ask_for_names(std::span<const NameQuestion> questions,
                                                      std::chrono::milliseconds wait_budget) {
  const auto deadline = Clock::now() + wait_budget;
  std::vector<Pending> pending;
  pending.reserve(questions.size());
  for (const NameQuestion& question : questions) pending.emplace_back(question);
  while (!std::ranges::all_of(pending, &Pending::is_done)) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) break;
    std::vector<pollfd> waits;
    for (const Pending& each : pending) waits.push_back(each.wait());
    if (poll(waits.data(), waits.size(), static_cast<int>(left.count())) <= 0) continue;
    for (size_t i = 0; i < pending.size(); ++i) {
      if (waits[i].revents != 0) pending[i].take();
    }
  }
  std::vector<std::optional<std::string>> names;
  for (const Pending& each : pending) names.push_back(each.name());
  return names;
}

}  // namespace heaptap::client
