// What both ends of a channel know, and nobody else: some text, best 32 random bytes. By it each end proves to the other who it
// is. It is never sent: it is the seed of two key pairs, one for each end, and these are what TLS authenticates with
// (channel/tls_session.h, docs/decisions/0072-a-channel-between-machines.md).
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace heaptap::channel {

class Token {
 public:
  static constexpr const char* kVariable = "HEAPTAP_TOKEN";

  // A key pair on P-256: the private number, and the public point, not compressed.
  struct Key {
    std::array<uint8_t, 32> secret{};
    std::array<uint8_t, 65> point{};
  };

  // White space around it is no part of it. `origin` is for errors: where the text is from.
  static base::Result<Token> from_text(std::string_view text, std::string_view origin);
  // The file may be read by its owner alone, who is this user or root.
  static base::Result<Token> from_file(const std::string& path);
  // None: there is no such variable. It is taken out of the environment, so that no program that is started inherits it.
  // Before there are threads.
  static base::Result<std::optional<Token>> from_environment();

  Token(const Token&) = default;
  Token& operator=(const Token&) = default;
  // Wipes the keys.
  ~Token();

  [[nodiscard]] const Key& listeners_key() const { return listener_; }
  [[nodiscard]] const Key& connectors_key() const { return connector_; }

 private:
  Token() = default;

  Key listener_;
  Key connector_;
};

}  // namespace heaptap::channel
