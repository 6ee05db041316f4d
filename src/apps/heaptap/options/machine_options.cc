#include "apps/heaptap/options/machine_options.h"

#include "apps/heaptap/options/command_options.h"

namespace heaptap::app {

std::vector<std::string> MachineOptions::words() const {
  std::vector<std::string> words;
  if (is_here()) return words;
  words.push_back("--host=" + host);
  if (!token_file.empty()) words.push_back("--token-file=" + token_file);
  return words;
}

void add_host(OptionSet& set, std::string& host, const std::string& help) {
  set.group(OptionGroup::kRemote);
  set.text("-H,--host", host, help).value_name("ADDRESS");
}

void add_recorded_host(OptionSet& set, std::string& host) {
  add_host(set, host,
           "The process runs on this machine, and is recorded by `heaptap run` or `attach` with the same -H");
}

void add_unused_security(OptionSet& set) {
  set.group(OptionGroup::kRemote);
  set.parsed(
         "--token-file", [](const std::string&) -> base::Result<> { return {}; },
         "Ignored: the recording has the connection")
      .value_name("FILE");
}

void add_token(OptionSet& set, std::string& file) {
  set.group(OptionGroup::kRemote);
  set.text("--token-file", file, kTokenHelp).value_name("FILE");
}

void add_machine(OptionSet& set, MachineOptions& machine, const std::string& help) {
  add_host(set, machine.host, help);
  add_token(set, machine.token_file);
}

}  // namespace heaptap::app
