#include "common/discovery/found_place.h"

#include <algorithm>
#include <iterator>

#include "common/base/safe_text.h"

namespace heaptap::discovery {
namespace {

bool is_same_word(std::string_view one, std::string_view other) {
  const auto small = [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter | 0x20) : letter;
  };
  return std::ranges::equal(one, other, {}, small, small);
}

}  // namespace

std::string address_text(const FoundAddress& found) {
  const bool needs_interface = found.address.family == Family::kIpv6 && found.address.is_link_local();
  return found.address.text() + (needs_interface ? "%" + found.interface : "");
}

std::string endpoint_text(const FoundAddress& found, uint16_t port) {
  const std::string address = address_text(found);
  return (found.address.family == Family::kIpv4 ? address : "[" + address + "]") + ":" + std::to_string(port);
}

std::vector<FoundService> called(const std::vector<FoundService>& services, std::string_view name) {
  std::vector<FoundService> found;
  const auto take_those = [&](const std::string FoundService::* word) {
    std::ranges::copy_if(services, std::back_inserter(found), [&](const FoundService& each) {
      return !each.addresses.empty() && (name.empty() || is_same_word(each.*word, name));
    });
  };
  take_those(&FoundService::name);
  if (found.empty()) take_those(&FoundService::host);
  return found;
}

std::string places_text(const std::vector<FoundService>& services) {
  std::string text;
  for (const FoundService& each : services) {
    text += (text.empty() ? "" : ", ") + endpoint_text(each.addresses.front(), each.port) + " (" +
            base::safe_text(each.host) + ")";
  }
  return text;
}

}  // namespace heaptap::discovery
