#include "common/channel/front.h"

#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <string_view>
#include <utility>

#include "common/base/byte_span.h"
#include "common/channel/confinement.h"
#include "common/channel/connection.h"
#include "common/channel/failure.h"
#include "common/channel/random.h"
#include "common/channel/secret_bytes.h"
#include "common/channel/tls_session.h"

namespace heaptap::channel {
namespace {

constexpr uint8_t kReadyWord = 'r';
constexpr uint8_t kFailedWord = 'f';
constexpr size_t kMaxReasonBytes = 255;
constexpr size_t kPassedBytes = size_t{16} << 10;

// Fronts of this process, which nothing else waits for. Connections are made by several threads.
class Fronts {
 public:
  void add(pid_t front) {
    const std::scoped_lock lock(mutex_);
    all_.push_back(front);
  }
  void reap() {
    const std::scoped_lock lock(mutex_);
    std::erase_if(all_, [](pid_t front) {
      const pid_t waited = waitpid(front, nullptr, WNOHANG);
      return waited == front || (waited < 0 && errno == ECHILD);
    });
  }

 private:
  std::mutex mutex_;
  std::vector<pid_t> all_;
};

Fronts& fronts() {
  static Fronts all;
  return all;
}

// It is the first message: there is room for it.
void say_failure(SocketStream& inside, std::string_view why) {
  const auto text = base::bytes_of(why.substr(0, kMaxReasonBytes));
  std::vector<uint8_t> word{kFailedWord, static_cast<uint8_t>(text.size())};
  word.insert(word.end(), text.begin(), text.end());
  (void)inside.send(word);
}

// The front's work, from the end of its confinement to its exit.
class Passage {
 public:
  Passage(Connection network, SocketStream inside) : network_(std::move(network)), inside_(std::move(inside)) {}

  void run() {
    while (!network_.is_ready()) {
      if (network_.is_gone()) return say_failure(inside_, network_.why());
      wait(false);
      network_.proceed(Clock::now());
    }
    say(kReadyWord, *network_.channel_key());
    while (!is_over_) {
      wait(true);
      network_.proceed(Clock::now());
      pass_inwards();
      pass_outwards();
    }
  }

 private:
  void wait(bool passes) {
    const bool sends = inwards_done_ < inwards_.size();
    const bool receives = passes && !has_inside_ended_ && network_.room() >= kPassedBytes;
    const bool watches = sends || receives || !passes;
    std::vector<pollfd> waits;
    network_.add_waits(waits, !sends);
    // If nothing is expected from it, poll would report its hang-up repeatedly.
    pollfd inside{watches ? inside_.descriptor() : -1,
                  static_cast<short>((sends ? POLLOUT : 0) | (receives ? POLLIN : 0)), 0};
    waits.push_back(inside);
    poll(waits.data(), waits.size(), longest_wait_ms(watches));
    inside = {inside_.descriptor(), 0, 0};
    if (poll(&inside, 1, 0) <= 0 || (inside.revents & (POLLHUP | POLLERR)) == 0) return;
    if (!passes) _exit(0);  // nothing waits for it any more
    if (!receives) end_network();
  }

  [[nodiscard]] int longest_wait_ms(bool watches) const {
    constexpr int64_t kLookMs = 1'000;
    const auto deadline = network_.deadline();
    if (!deadline) return watches ? -1 : static_cast<int>(kLookMs);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*deadline - Clock::now()).count() + 1;
    return static_cast<int>(std::clamp<int64_t>(left, 0, kLookMs));
  }

  void end_network() {
    has_inside_ended_ = true;
    network_.end(Clock::now());
  }

  void pass_inwards() {
    if (inwards_done_ == inwards_.size()) {
      inwards_.clear();
      inwards_done_ = 0;
      (void)network_.read(inwards_);
    }
    while (inwards_done_ < inwards_.size()) {
      const Transfer sent = inside_.send(std::span(inwards_).subspan(inwards_done_));
      if (sent.outcome == Transfer::Outcome::kLater) return;
      if (sent.outcome != Transfer::Outcome::kDone) {
        is_over_ = true;
        return;
      }
      inwards_done_ += sent.bytes;
    }
    is_over_ = network_.is_gone();
  }

  void pass_outwards() {
    std::array<uint8_t, kPassedBytes> piece;
    while (!has_inside_ended_ && network_.room() >= piece.size()) {
      const Transfer got = inside_.receive(piece);
      if (got.outcome == Transfer::Outcome::kLater) break;
      if (got.outcome == Transfer::Outcome::kDone) {
        (void)network_.write(std::span(piece).first(got.bytes));
        network_.flush();
      } else {
        end_network();
      }
    }
  }

  void say(uint8_t word, std::span<const uint8_t> rest) {
    inwards_.push_back(word);
    inwards_.insert(inwards_.end(), rest.begin(), rest.end());
  }

  Connection network_;
  SocketStream inside_;
  std::vector<uint8_t> inwards_;
  size_t inwards_done_ = 0;
  bool has_inside_ended_ = false;
  bool is_over_ = false;
};

[[noreturn]] void be_front(base::UniqueFd network, base::UniqueFd inside, std::unique_ptr<Session> session) {
  // Signals for the terminal's process group are for the other process; this one ends with it.
  for (const int signal : {SIGINT, SIGQUIT, SIGTSTP, SIGHUP, SIGTERM, SIGPIPE}) (void)std::signal(signal, SIG_IGN);
  const std::array kept{network.get(), inside.get()};
  SocketStream up(std::move(inside));
  auto connection = Connection::over(std::move(network), std::move(session), "", {}, Clock::now());
  const auto confined = confine_to(kept);
  if (!connection) say_failure(up, connection.error().message);
  if (!confined) say_failure(up, confined.error().message);
  if (connection && confined) Passage(*std::move(connection), std::move(up)).run();
  _exit(0);
}

}  // namespace

void reap_fronts() { fronts().reap(); }

base::Result<base::UniqueFd> start_front(base::UniqueFd network, const KeyPair* channel_key) {
  reap_fronts();
  TlsSession::Seed seed;
  HEAPTAP_TRY(fill_random(seed));
  std::array<int, 2> pair{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair.data()) != 0) {
    return fail({"no socket for another connection: ", base::reason_of(errno)});
  }
  base::UniqueFd own(pair[0]);
  base::UniqueFd fronts_end(pair[1]);
  std::unique_ptr<Session> session;
  if (channel_key != nullptr) session = TlsSession::of_listener(*channel_key, seed);
  if (channel_key == nullptr) session = TlsSession::of_connector(seed);
  const pid_t process = fork_without_secrets(channel_key != nullptr ? &channel_key->secret() : nullptr);
  explicit_bzero(seed.data(), seed.size());
  if (process < 0) return fail({"no process for another connection: ", base::reason_of(errno)});
  if (process == 0) be_front(std::move(network), std::move(fronts_end), std::move(session));
  fronts().add(process);
  return own;
}

FrontSession::FrontSession(Role role, const PublicKey* channel_key) : role_(role) {
  if (channel_key != nullptr) channel_key_ = *channel_key;
}

size_t FrontSession::wanted_bytes() const {
  if (heard_.empty()) return 1;
  if (heard_.front() == kReadyWord) return 1 + sizeof(PublicKey);
  return heard_.size() < 2 ? 2 : size_t{2} + heard_[1];
}

void FrontSession::greet(ByteStream& stream) {
  while (state() == State::kGreeting) {
    const size_t before = heard_.size();
    const size_t wanted = wanted_bytes();
    if (before == wanted) return judge();
    heard_.resize(wanted);
    const Transfer got = stream.receive(std::span(heard_).subspan(before));
    heard_.resize(before + (got.outcome == Transfer::Outcome::kDone ? got.bytes : 0));
    if (got.outcome == Transfer::Outcome::kLater) return;
    if (got.outcome != Transfer::Outcome::kDone) {
      return set_failed(make_error({"the process for this connection ended unexpectedly"}));
    }
  }
}

void FrontSession::judge() {
  if (heard_.front() != kReadyWord) {
    if (heard_.front() != kFailedWord) return set_failed(why_no_greeting(role_));
    return set_failed({std::string(base::text_of(std::span(heard_).subspan(2)))});
  }
  if (!channel_key_) {
    channel_key_.emplace();
    std::copy_n(heard_.begin() + 1, channel_key_->size(), channel_key_->begin());
  }
  set_state(State::kReady);
}

}  // namespace heaptap::channel
