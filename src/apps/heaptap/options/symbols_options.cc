// Options of `heaptap symbols`.
#include "apps/heaptap/options/command_options.h"

namespace heaptap::app {

base::Result<Command> parse_symbols(const Arguments& arguments, const Defaults& defaults) {
  constexpr const char* kSymbolsUsage =
      "heaptap symbols serve [--listen ADDRESS | --connect ADDRESS] [--token-file FILE] DIR...";
  SymbolsOptions options;
  std::vector<std::string> words;
  OptionSet set("symbols", "Serve symbols and unwind tables of the files below DIR to other machines", kSymbolsUsage);
  set.positional("serve DIR", words, "The word serve, and the directories").offer({"serve"});
  set.group(OptionGroup::kOutput);
  set.flag("-q,--quiet", options.quiet, "Print errors only");
  set.group(OptionGroup::kRemote);
  set.text("--listen", options.listen,
           "Wait there: a UNIX socket's path, HOST:PORT, or PORT on loopback (default: a socket of this user's)")
      .value_name("ADDRESS");
  set.text("--connect", options.connect,
           "Connect to a client that waits (`--symbols-server listen:ADDRESS`): HOST:PORT, in place of --listen")
      .value_name("ADDRESS");
  add_token(set, options.token_file);
  add_config(set);
  const auto parsed = parse_with(set, arguments, defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  if (words.empty() || words.front() != "serve") {
    return base::fail_as(base::ErrorKind::kUsage, "symbols: expected `serve`\nusage: {}", kSymbolsUsage);
  }
  if (!options.listen.empty() && !options.connect.empty()) {
    return base::fail_as(base::ErrorKind::kUsage, "symbols serve: --listen or --connect\nusage: {}", kSymbolsUsage);
  }
  options.directories.assign(words.begin() + 1, words.end());
  if (options.directories.empty()) {
    return base::fail_as(base::ErrorKind::kUsage,
                         "symbols serve: no directory given (only files below it are served)\nusage: {}",
                         kSymbolsUsage);
  }
  return options;
}

}  // namespace heaptap::app
