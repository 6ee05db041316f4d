// `heaptap symbols serve DIR…`: symbol server for machines without symbols, from the files below these directories.
#pragma once
#include <string>
#include <vector>

namespace heaptap::app {

struct SymbolsOptions {
  std::vector<std::string> directories;
  std::string listen;   // empty: a UNIX socket of this user's
  std::string connect;  // address of a client to connect to, instead of listening
  std::string token_file;
  bool quiet = false;
};

// Returns heaptap's exit status.
int perform(const SymbolsOptions& options);

}  // namespace heaptap::app
