// Arguments of a command line that a file keeps as one text, split at spaces: an argument with spaces of its own is split too.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace heaptap::imports {

inline std::vector<std::string> words_of_command(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (end != 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

}  // namespace heaptap::imports
