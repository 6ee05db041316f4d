// Messages of DNS.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/check.h"
#include "common/network/dns_message.h"

namespace {

using namespace heaptap::network;

bool is_same(const std::vector<Record>& one, const std::vector<Record>& other) {
  if (one.size() != other.size()) return false;
  for (size_t at = 0; at < one.size(); ++at) {
    if (one[at].name.bytes() != other[at].name.bytes() || one[at].type != other[at].type ||
        one[at].data != other[at].data || one[at].ttl_s != other[at].ttl_s ||
        one[at].takes_place != other[at].takes_place) {
      return false;
    }
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto message = read_message({reinterpret_cast<const char*>(data), size});
  if (!message) return 0;
  for (const Record& record : message->answers) {
    (void)record.name.text();
    if (const auto target = target_of(record)) HEAPTAP_CHECK(target->bytes().size() < kMaxNameBytes);
    if (const auto place = place_of(record)) HEAPTAP_CHECK(place->host.bytes().size() < kMaxNameBytes);
  }
  // What was read is said again in the same way; names that were only pointers may make it longer than a message may be.
  const std::string bytes = write_message(*message);
  if (bytes.size() > kMaxMessageBytes) return 0;
  const auto again = read_message(bytes);
  HEAPTAP_CHECK(again && again->id == message->id && again->questions.size() == message->questions.size());
  HEAPTAP_CHECK(is_same(again->answers, message->answers) && is_same(again->authorities, message->authorities) &&
                is_same(again->additionals, message->additionals));
  return 0;
}
