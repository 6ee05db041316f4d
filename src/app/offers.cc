#include "app/offers.h"

#include <fmt/format.h>

#include "base/safe_text.h"

namespace heaptap::app {

std::vector<live::Offer> offers_of(const std::string& machine) {
  return machine.empty() ? live::recordings_of_this_user() : live::recordings_of_machine(machine);
}

std::string words_of(const live::Offer& offer) {
  return offer.machine.empty() ? fmt::format("{}", offer.pid)
                               : fmt::format("-H {} {}", base::safe_text(offer.machine), offer.pid);
}

base::Result<std::unique_ptr<live::Recording>> connect_to(const live::Offer& offer) {
  return live::connect_to_process(offer.pid, offer.machine);
}

}  // namespace heaptap::app
