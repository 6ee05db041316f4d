// Options of `heaptap completions`, which installers call.
#include "apps/heaptap/completions/completions.h"
#include "apps/heaptap/options/command_options.h"

namespace heaptap::app {

base::Result<Command> parse_completions(const Arguments& arguments, const Defaults& defaults) {
  constexpr const char* kCompletionsUsage = "heaptap completions bash|zsh|fish";
  std::string shell;
  OptionSet set("completions", "Print the completions for a shell", kCompletionsUsage);
  set.positional("SHELL", shell, "The shell: bash, zsh or fish").offer({"bash", "zsh", "fish"});
  const auto parsed = parse_with(set, arguments, defaults);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed) return **parsed;
  if (shell == "bash") return PrintText{bash_completions(known_commands())};
  if (shell == "zsh") return PrintText{zsh_completions(known_commands())};
  if (shell == "fish") return PrintText{fish_completions(known_commands())};
  return base::fail_as(base::ErrorKind::kUsage, "completions: {}\nusage: {}",
                       shell.empty() ? "no shell given" : fmt::format("unknown shell '{}'", shell), kCompletionsUsage);
}

}  // namespace heaptap::app
