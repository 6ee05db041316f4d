// Answer to the question which of several recordings the console connects to.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "views/client/recording.h"

namespace heaptap::app {

struct Choice {
  enum class Kind : uint8_t {
    kOffer,    // the one at `offer`
    kNone,     // begin without a recording
    kQuit,     // end the console
    kExplain,  // `text` is to be printed, and the question repeated
  };
  Kind kind = Kind::kExplain;
  size_t offer = 0;
  std::string text = {};
};

// `line`: a number of the list from 1 on, the PID of one of them, or a word.
Choice choice_of(std::string_view line, std::span<const client::Offer> offers);

}  // namespace heaptap::app
