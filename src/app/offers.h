// Live recordings of this user, for commands without an explicit target or with an ambiguous one.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "live/recording.h"

namespace heaptap::app {

// Those on a machine; empty: on any.
std::vector<live::Offer> offers_of(const std::string& machine);

// Command line arguments that select it: "7", "-H board:8086 7".
std::string words_of(const live::Offer& offer);

base::Result<std::unique_ptr<live::Recording>> connect_to(const live::Offer& offer);

}  // namespace heaptap::app
