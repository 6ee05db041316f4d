// Shared secret of both ends of a channel: 256 random bits, as written by `heaptap-target token`. It is never sent: it
// is the seed of two key pairs, one per end, used for authentication (channel/proof.h).
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/channel/key.h"

namespace heaptap::channel {

class Token {
 public:
  static constexpr const char* kVariable = "HEAPTAP_TOKEN";

  // A new one as text, for a file. Fails if the kernel has no random numbers.
  static base::Result<std::string> make_text();
  // Accepts only the format of make_text(): other texts might be guessable. Ignores surrounding white space. `origin`
  // is for error messages: the source of the text.
  static base::Result<Token> from_text(std::string_view text, std::string_view origin);
  // The file must be readable only by its owner, who is this user or root.
  static base::Result<Token> from_file(const std::string& path);
  // None: no such variable. Removes it from the environment, so that started programs don't inherit it. Call before
  // there are threads.
  static base::Result<std::optional<Token>> from_environment();

  [[nodiscard]] const KeyPair& listeners_key() const { return listener_; }
  [[nodiscard]] const KeyPair& connectors_key() const { return connector_; }

 private:
  Token(const KeyPair& listener, const KeyPair& connector) : listener_(listener), connector_(connector) {}

  KeyPair listener_;
  KeyPair connector_;
};

}  // namespace heaptap::channel
