// Nearest known word to an unknown one, for "did you mean …?".
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace heaptap::base {

// Number of insertions, deletions, substitutions and swaps of neighbours (optimal string alignment distance).
size_t edit_distance(std::string_view a, std::string_view b);

// The nearest of `words`, the first of several: at most two edits away, one for a word of up to three characters. Empty: none.
std::string nearest_word(std::string_view word, std::span<const std::string> words);

// " (did you mean show?)", to follow the unknown word in a message. Empty: none is near.
std::string suggestion(std::string_view word, std::span<const std::string> words);

}  // namespace heaptap::base
