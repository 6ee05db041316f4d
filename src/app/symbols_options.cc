// The options of `heaptap symbols`.
#include "app/command_options.h"

namespace heaptap::app {

base::Result<Command> parse_symbols(const Arguments& arguments, const Defaults& defaults) {
  constexpr const char* kUsage = "heaptap symbols serve [--listen ADDRESS] [--token-file FILE] DIR...";
  SymbolsOptions options;
  std::vector<std::string> words;
  CLI::App app("Give other machines symbols of the files below DIR: " + std::string(kUsage), "symbols");
  offer(app.add_option("serve", words, "serve, and the folders")->type_name("DIR"), {"serve"});
  app.add_option("--listen", options.listen,
                 "Wait there: a UNIX socket's path, HOST:PORT, or PORT on loopback (default: a socket of this user's)")
      ->type_name("ADDRESS");
  app.add_option("--token-file", options.token_file, "What both machines know (default: $HEAPTAP_TOKEN)")
      ->type_name("FILE");
  app.add_flag("--insecure", options.insecure, "Beyond loopback without a token and encryption");
  app.add_flag("-q,--quiet", options.quiet, "Print errors alone");
  add_config(app);
  const auto parsed = parse_with(app, kUsage, arguments, defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  if (words.empty() || words.front() != "serve") {
    return base::fail_as(base::ErrorKind::kUsage, "symbols: what is to be done is `serve`\nusage: {}", kUsage);
  }
  options.folders.assign(words.begin() + 1, words.end());
  if (options.folders.empty()) {
    return base::fail_as(base::ErrorKind::kUsage,
                         "symbols serve: name the folders whose files it is about, and no others are opened\nusage: {}",
                         kUsage);
  }
  return options;
}

}  // namespace heaptap::app
