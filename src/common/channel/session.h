// Session layer of a channel between its user and the stream: unchanged bytes (common/channel/plain_session.h), or TLS
// (common/channel/tls_session.h) with mutual authentication (common/channel/proven_session.h). Each begins with a greeting, by which
// both ends check that they use the same protocol.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "common/channel/byte_queue.h"
#include "common/channel/byte_stream.h"
#include "common/channel/key.h"

namespace heaptap::channel {

enum class Role : uint8_t { kListener, kConnector };

// Maximum added by one read. A read that adds less has taken all available bytes.
constexpr size_t kMaxReadBytes = size_t{64} << 10;

class Session {
 public:
  enum class State : uint8_t {
    kGreeting,
    kReady,
    kEnded,   // closed by the other side
    kFailed,  // why() has the reason
  };

  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  virtual ~Session() = default;

  // Whether write() can make progress once the stream accepts bytes.
  [[nodiscard]] bool wants_to_send(const ByteQueue& queue) const {
    return !is_unheard_ && (outgoing_bytes() > 0 || (state_ == State::kReady && !queue.empty()));
  }

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const std::string& why() const { return why_; }

  // As far as possible without waiting. Takes no byte after the greeting from the stream, so that poll() reports those.
  virtual void greet(ByteStream& stream) = 0;
  // Once it is ready. Appends received bytes to `out`.
  virtual void read(ByteStream& stream, std::vector<uint8_t>& out) = 0;
  // As above into `room`; returns the number of bytes. Bytes received with them may be buffered without poll() reporting them.
  virtual size_t read_piece(ByteStream& stream, std::span<uint8_t> room) = 0;
  // Sends as much as possible: its own bytes in any state, then the queue's if it is ready.
  virtual void write(ByteStream& stream, ByteQueue& queue) = 0;
  // Own bytes to send: of the greeting, or taken from the queue.
  [[nodiscard]] virtual size_t outgoing_bytes() const = 0;
  // Sends the end marker: takes nothing from the queue any more.
  virtual void say_end() = 0;
  // Public key made by the listener for this connection alone; null: none, or not yet.
  [[nodiscard]] virtual const PublicKey* channel_key() const { return nullptr; }
  // Fingerprint of the other end's proven key; empty: none, or authenticated by a token.
  [[nodiscard]] const std::string& peer_key() const { return peer_key_; }
  // Name of the peer's key at this end.
  [[nodiscard]] const std::string& peer_name() const { return peer_name_; }
  // Whether it failed for a permanent reason: the identity of an end.
  [[nodiscard]] bool is_refused() const { return is_refused_; }
  // Whether the stream accepts no more bytes. Data sent by the other side before is still read, and the end is found there.
  [[nodiscard]] bool is_unheard() const { return is_unheard_; }

 protected:
  void set_state(State state) { state_ = state; }
  // Keeps the first reason.
  void set_failed(base::Error why) {
    if (state_ == State::kFailed || state_ == State::kEnded) return;
    state_ = State::kFailed;
    why_ = std::move(why.message);
  }
  void set_unheard() { is_unheard_ = true; }
  void set_peer(std::string name, std::string key) {
    peer_name_ = std::move(name);
    peer_key_ = std::move(key);
  }
  // It fails once the other end has been informed.
  void set_refused() { is_refused_ = true; }

 private:
  State state_ = State::kGreeting;
  bool is_unheard_ = false;
  bool is_refused_ = false;
  std::string why_;
  std::string peer_name_;
  std::string peer_key_;
};

}  // namespace heaptap::channel
