#include "views/html/strings.h"

namespace heaptap::html {

uint32_t Strings::number_of(std::string_view text) {
  std::string kept(text.substr(0, max_bytes_));
  const bool is_cut = kept.size() < text.size();
  if (is_cut) kept += "…";
  const auto [known, is_new] = numbers_.try_emplace(std::move(kept), static_cast<uint32_t>(list_.size()));
  if (is_new) {
    list_.push_back(&known->first);
    cut_ += is_cut ? 1 : 0;
  }
  return known->second;
}

}  // namespace heaptap::html
