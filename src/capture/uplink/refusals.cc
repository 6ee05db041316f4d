#include "capture/uplink/refusals.h"

#include <utility>

#include "common/message/common_messages.h"

namespace heaptap::uplink {

void Refusals::add(const std::string& peer, const base::Error& why, line::TimePoint now) {
  if (!quota_.take(now)) {
    ++unnamed_;
    return;
  }
  news_.push_back({line::LineNews::Kind::kRefused, why.message, peer, std::exchange(unnamed_, 0)});
}

std::vector<line::LineNews> Refusals::take() { return std::exchange(news_, {}); }

std::string why_not_spoken_with(const line::Greeting& greeting) {
  if (greeting.major == message::kMajorVersion) return {};
  return base::make_error(
             "heaptap-target speaks version {} of the protocol, heaptap version {}: use the same release of both",
             message::kMajorVersion, greeting.major)
      .message;
}

std::string why_nothing_to_take_over() {
  return base::make_error("no recording there yet: `heaptap run -H` starts one").message;
}

}  // namespace heaptap::uplink
