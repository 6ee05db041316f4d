// Live recordings of this user, for commands without an explicit target or with an ambiguous one.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "views/client/recording.h"

namespace heaptap::app {

// Those on a machine; empty: on any.
std::vector<client::Offer> offers_of(const std::string& machine);

// Command line arguments that select it: "7", "-H board:8086 7".
std::string words_of(const client::Offer& offer);

// Its program, or that its recorder doesn't answer.
std::string program_text(const client::Offer& offer);

base::Result<std::unique_ptr<client::Recording>> connect_to(const client::Offer& offer);

}  // namespace heaptap::app
