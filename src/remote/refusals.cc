#include "remote/refusals.h"

#include <utility>

namespace heaptap::remote {

void Refusals::add(const std::string& peer, const base::Error& why, TimePoint now) {
  if (!quota_.take(now)) {
    ++unnamed_;
    return;
  }
  news_.push_back({LineNews::Kind::kRefused, why.message, peer, std::exchange(unnamed_, 0)});
}

std::vector<LineNews> Refusals::take() { return std::exchange(news_, {}); }

}  // namespace heaptap::remote
