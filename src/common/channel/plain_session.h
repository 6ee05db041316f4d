// Unencrypted session: on one machine, or where the user chose it. Each end first sends the kind of channel that it
// expects, and checks the other's.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/channel/passing_session.h"

namespace heaptap::channel {

// The first byte differs from that of any TLS record.
constexpr std::string_view kPlainGreeting = "heaptap channel 1\n";
// The first byte of a TLS record (RFC 5246, 6.2.1): an alert, a handshake.
constexpr uint8_t kTlsAlert = 21;
constexpr uint8_t kTlsHandshake = 22;

class PlainSession : public PassingSession {
 public:
  explicit PlainSession(Role role) : role_(role) {}

  void greet(ByteStream& stream) override;
  void write(ByteStream& stream, ByteQueue& queue) override;
  [[nodiscard]] size_t outgoing_bytes() const override { return kPlainGreeting.size() - said_bytes_; }

 private:
  void say_greeting(ByteStream& stream);
  void hear(std::span<const uint8_t> bytes);

  const Role role_;
  size_t said_bytes_ = 0;   // of the greeting, sent
  size_t heard_bytes_ = 0;  // of the other's, received
};

}  // namespace heaptap::channel
