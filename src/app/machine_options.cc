#include "app/machine_options.h"

#include "app/command_options.h"

namespace heaptap::app {

std::vector<std::string> MachineOptions::words() const {
  std::vector<std::string> words;
  if (is_here()) return words;
  words.push_back("--host=" + host);
  if (!token_file.empty()) words.push_back("--token-file=" + token_file);
  if (insecure) words.emplace_back("--insecure");
  return words;
}

void add_host(CLI::App& app, std::string& host, const std::string& help) {
  app.add_option("-H,--host", host, help)->type_name("ADDRESS");
}

void add_recorded_host(CLI::App& app, std::string& host) {
  add_host(app, host,
           "The process runs on this machine, and is recorded by `heaptap run` or `attach` with the same -H");
}

void add_unused_security(CLI::App& app) {
  app.add_option_function<std::string>(
         "--token-file", [](const std::string&) {},
         "Accepted as for run, and not read: the recording has the connection")
      ->type_name("FILE");
  app.add_flag_callback("--insecure", [] {}, "Accepted as for run, and of no effect either");
}

void add_machine(CLI::App& app, MachineOptions& machine, const std::string& help) {
  add_host(app, machine.host, help);
  app.add_option("--token-file", machine.token_file, "What both machines know (default: $HEAPTAP_TOKEN)")
      ->type_name("FILE");
  app.add_flag("--insecure", machine.insecure, "Beyond loopback without a token and encryption");
}

}  // namespace heaptap::app
