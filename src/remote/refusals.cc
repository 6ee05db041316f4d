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

std::string why_not_spoken_with(const Greeting& greeting) {
  if (greeting.major == control::kMajorVersion) return {};
  return base::make_error(
             "heaptap-target speaks version {} of the protocol, heaptap version {}: use the same release of both",
             control::kMajorVersion, greeting.major)
      .message;
}

std::string why_nothing_to_take_over() {
  return base::make_error("no recording there yet: `heaptap run -H` starts one").message;
}

}  // namespace heaptap::remote
