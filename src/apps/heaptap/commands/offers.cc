#include "apps/heaptap/commands/offers.h"

#include <fmt/format.h>

#include "common/base/safe_text.h"

namespace heaptap::app {

std::vector<client::Offer> offers_of(const std::string& machine) {
  return machine.empty() ? client::recordings_of_this_user() : client::recordings_of_machine(machine);
}

std::string words_of(const client::Offer& offer) {
  return offer.machine.empty() ? fmt::format("{}", offer.pid)
                               : fmt::format("-H {} {}", base::safe_text(offer.machine), offer.pid);
}

std::string program_text(const client::Offer& offer) {
  std::string program = base::safe_text(offer.program);
  if (offer.answers) return program;
  const std::string recorder = offer.recorder == 0 ? "" : fmt::format(", pid {},", offer.recorder);
  return fmt::format("{}{}the heaptap that records it{} doesn't answer: is it stopped?", program,
                     program.empty() ? "" : "; ", recorder);
}

base::Result<std::unique_ptr<client::Recording>> connect_to(const client::Offer& offer) {
  return client::connect_to_process(offer.pid, offer.machine);
}

}  // namespace heaptap::app
