// `heaptap symbols serve DIR…`: answers other machines that have no symbols, from the files beneath folders.
#pragma once
#include <string>
#include <vector>

namespace heaptap::app {

struct SymbolsOptions {
  std::vector<std::string> folders;
  std::string listen;   // empty: a UNIX socket of this user's
  std::string connect;  // a client that this one goes to, in place of that
  std::string token_file;
  bool quiet = false;
};

// Returns heaptap's exit status.
int perform(const SymbolsOptions& options);

}  // namespace heaptap::app
