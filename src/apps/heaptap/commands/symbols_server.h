// Remote symbol server (--symbols-server; the peer is `heaptap symbols serve`). Connects when the first name is needed.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "analysis/symbol_server/client.h"
#include "common/base/result.h"
#include "common/channel/security.h"

namespace heaptap::app {

class SymbolsServer : public symbols::NameSource {
 public:
  // Fails if it isn't an address.
  base::Result<> set_address(const std::string& text);
  void set_token_file(std::string path) { token_file_ = std::move(path); }
  // Same server, with a fresh connection state.
  [[nodiscard]] std::shared_ptr<SymbolsServer> anew() const;
  // The server listens and this side connects, not the other way round.
  [[nodiscard]] bool is_gone_to() const { return !listens_; }
  // As command line options, for another heaptap.
  [[nodiscard]] std::vector<std::string> words() const;
  // Reads the token now: before a program is started, which must not inherit it.
  base::Result<> prepare();

  symbols::SymbolLevel level_of(const std::string& build_id) override;
  std::vector<std::vector<model::Frame>> frames_at(const std::string& build_id,
                                                   std::span<const uint64_t> addresses) override;
  std::optional<symbols::Variable> variable_at(const std::string& build_id, uint64_t address,
                                               bool is_thread_local) override;
  model::RowTable rows_of(const std::string& build_id, std::optional<uint64_t> wanted);

 private:
  // Null: unavailable, which was reported.
  symbol_server::Client* client();
  base::Result<std::unique_ptr<symbol_server::Client>> make_client();

  std::string name_;
  std::optional<channel::Address> address_;
  bool listens_ = false;  // this side listens at the address, and the server connects
  std::string token_file_;
  std::optional<channel::Security> security_;
  std::mutex mutex_;
  bool has_tried_ = false;
  std::unique_ptr<symbol_server::Client> client_;
};

// As channel::read_security(); environment variables stay available for later calls.
base::Result<channel::Security> security_of(const channel::SecuritySources& sources);

}  // namespace heaptap::app
