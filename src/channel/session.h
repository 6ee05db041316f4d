// What becomes of a channel's bytes between its user and the stream: they go as they are (channel/plain_session.h), or by TLS
// (channel/tls_session.h), over which both ends prove who they are (channel/proven_session.h). Each begins with a greeting, by which
// both ends see that they mean the same.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "channel/byte_queue.h"
#include "channel/byte_stream.h"
#include "channel/key.h"

namespace heaptap::channel {

enum class Role : uint8_t { kListener, kConnector };

// How much a read adds, at most. A read that adds less has taken all that was there.
constexpr size_t kMaxReadBytes = size_t{64} << 10;

class Session {
 public:
  enum class State : uint8_t {
    kGreeting,
    kReady,
    kEnded,   // the other side said so
    kFailed,  // why() says what happened
  };

  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  virtual ~Session() = default;

  // Whether write() may get on once the stream takes bytes.
  [[nodiscard]] bool wants_to_send(const ByteQueue& queue) const {
    return !is_unheard_ && (outgoing_bytes() > 0 || (state_ == State::kReady && !queue.empty()));
  }

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const std::string& why() const { return why_; }

  // As far as it goes without waiting. Takes no byte from the stream that comes after the greeting, so that poll() tells of those.
  virtual void greet(ByteStream& stream) = 0;
  // Once it is ready. What came is added to `out`.
  virtual void read(ByteStream& stream, std::vector<uint8_t>& out) = 0;
  // The same into `room`: how much it is. What was said behind that in one piece may be there without poll() telling of it.
  virtual size_t read_piece(ByteStream& stream, std::span<uint8_t> room) = 0;
  // Sends what can be sent: its own bytes in any state, then the queue's if it is ready.
  virtual void write(ByteStream& stream, ByteQueue& queue) = 0;
  // Of its own, which wait to be sent: of the greeting, or taken from the queue.
  [[nodiscard]] virtual size_t outgoing_bytes() const = 0;
  // The last words: nothing is taken from the queue any more.
  virtual void say_end() = 0;
  // The public key of this connection alone, which the listener made; null: there is none, or not yet.
  [[nodiscard]] virtual const PublicKey* channel_key() const { return nullptr; }
  // The fingerprint of the other end's key, once it has proved it; empty: it has none, or both have one token.
  [[nodiscard]] virtual std::string peer_key() const { return {}; }
  // As whom this end knows it.
  [[nodiscard]] virtual std::string peer_name() const { return {}; }
  // It failed for a reason that another attempt has as well: who is who.
  [[nodiscard]] virtual bool is_refused() const { return false; }
  // The stream takes no more. What the other side said before that is still read, and the end is seen there.
  [[nodiscard]] bool is_unheard() const { return is_unheard_; }

 protected:
  void set_state(State state) { state_ = state; }
  // The first reason stays.
  void set_failed(base::Error why) {
    if (state_ == State::kFailed || state_ == State::kEnded) return;
    state_ = State::kFailed;
    why_ = std::move(why.message);
  }
  void set_unheard() { is_unheard_ = true; }

 private:
  State state_ = State::kGreeting;
  bool is_unheard_ = false;
  std::string why_;
};

}  // namespace heaptap::channel
