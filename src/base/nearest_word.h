// The word that was probably meant by one that is unknown: "did you mean …?"
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace heaptap::base {

// The number of characters to put in, take out, change, or swap with their neighbour (optimal string alignment).
size_t edit_distance(std::string_view a, std::string_view b);

// The nearest of `words`, the first of several: at most two edits away, one from a word of up to three characters. Empty: none is.
std::string nearest_word(std::string_view word, std::span<const std::string> words);

}  // namespace heaptap::base
