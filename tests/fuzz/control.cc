// Messages of the control protocol, as they come in pieces.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/check.h"
#include "common/message/message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heaptap::message;
  if (size == 0) return 0;
  const size_t piece = 1 + data[0];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  MessageReader reader(kMaxRequestBytes);
  for (size_t at = 0; at < bytes.size(); at += piece) {
    reader.add(bytes.substr(at, piece));
    while (const auto message = reader.next()) {
      for (const auto field : {Field::kPid, Field::kName, Field::kEntry}) {
        (void)message->fields.number(field);
        for (const std::string_view text : message->fields.texts(field)) (void)Fields::read(text);
      }
      // What was read is said again in the same way.
      MessageReader again(kMaxRequestBytes * 2);
      again.add(encode(*message));
      const auto same = again.next();
      HEAPTAP_CHECK(same && same->kind == message->kind && same->number == message->number &&
                    same->fields.bytes() == message->fields.bytes());
    }
  }
  return 0;
}
