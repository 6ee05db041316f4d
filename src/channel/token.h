// What both ends of a channel know, and nobody else: 256 random bits, as `heaptap-target token` writes them. It is never sent: it
// is the seed of two key pairs, one for each end, by which these prove who they are (channel/proof.h).
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "channel/key.h"

namespace heaptap::channel {

class Token {
 public:
  static constexpr const char* kVariable = "HEAPTAP_TOKEN";

  // A new one as text, for a file. The kernel may have no random numbers.
  static base::Result<std::string> make_text();
  // Only what make_text() gave: another text is refused, as it may be easily guessed. White space around it is no part of it.
  // `origin` is for errors: where the text is from.
  static base::Result<Token> from_text(std::string_view text, std::string_view origin);
  // The file may be read by its owner alone, who is this user or root.
  static base::Result<Token> from_file(const std::string& path);
  // None: there is no such variable. It is taken out of the environment, so that no program that is started inherits it.
  // Before there are threads.
  static base::Result<std::optional<Token>> from_environment();

  [[nodiscard]] const KeyPair& listeners_key() const { return listener_; }
  [[nodiscard]] const KeyPair& connectors_key() const { return connector_; }

 private:
  Token(const KeyPair& listener, const KeyPair& connector) : listener_(listener), connector_(connector) {}

  KeyPair listener_;
  KeyPair connector_;
};

}  // namespace heaptap::channel
