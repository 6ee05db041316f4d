// Recordings that go on, for commands that were told none or one of several.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "live/recording.h"

namespace heaptap::app {

// Of processes on a machine; empty: on any.
std::vector<live::Offer> offers_of(const std::string& machine);

// What names it on a command line: "7", "-H board:8086 7".
std::string words_of(const live::Offer& offer);

base::Result<std::unique_ptr<live::Recording>> connect_to(const live::Offer& offer);

}  // namespace heaptap::app
