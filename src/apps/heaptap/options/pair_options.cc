// Options of `heaptap pair`.
#include "apps/heaptap/options/command_options.h"

namespace heaptap::app {

base::Result<Command> parse_pair(const Arguments& arguments, const Defaults& defaults) {
  constexpr const char* kPairUsage = "heaptap pair [ADDRESS KEY [NAME] | KEY [NAME]]";
  PairOptions options;
  OptionSet set("pair", "Pair this machine with another one, by their keys", kPairUsage);
  set.positional("ADDRESS KEY", options.words,
                 "A target's address, its key and its name, which `heaptap-target pair` prints there. KEY [NAME]: a "
                 "host that may connect here");
  add_config(set);
  const auto parsed = parse_with(set, arguments, defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  return options;
}

}  // namespace heaptap::app
