// A line whose other end says anything, over several connections: what arrives is bounded by what was said, nothing is taken for
// received that never was sent, and the line stays one that goes on.
//
// Each step begins with a byte: 0 to 3: bytes that the other end says, as many as the next two bytes tell; 4: a whole message of it,
// kind, number and payload; 5: this end sends one; 6: a connection begins; 7: this end goes on where the other one is.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/check.h"
#include "common/line/line_messages.h"
#include "common/line/reliable_line.h"
#include "common/message/common_messages.h"
#include "fuzz/support/byte_source.h"

namespace heaptap {
namespace {

using line::Field;
using message::Message;

std::string text_of(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// One that has the fields of greetings.
Message some_message(fuzz::ByteSource& source) {
  Message message{.kind = message::Number(source.take<uint8_t>()), .number = source.take<uint8_t>(), .fields = {}};
  const auto has = source.take<uint8_t>();
  if ((has & 1) != 0) message.fields.add(message::CommonField::kMajor, uint64_t{source.take<uint8_t>()});
  if ((has & 2) != 0) message.fields.add(Field::kNumber, source.take<uint64_t>() >> (source.take<uint8_t>() & 63));
  if ((has & 4) != 0)
    message.fields.add(Field::kSession, std::string((has & 8) != 0 ? line::kSessionBytes : has >> 4, 's'));
  return message;
}

void say(line::ReliableLine& line, const std::string& bytes, line::TimePoint now, uint64_t& said_bytes) {
  said_bytes += bytes.size();
  line.receive(bytes, now);
}

}  // namespace
}  // namespace heaptap

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heaptap;
  fuzz::ByteSource source(data, size);
  line::ReliableLine line(1000);
  line::TimePoint now{};
  line.set_session(std::string(line::kSessionBytes, 's'));
  uint64_t sent = 0;
  uint64_t said_bytes = 0;
  uint64_t arrived = 0;
  while (!source.empty()) {
    now += std::chrono::milliseconds(100);
    switch (source.take<uint8_t>() % 8) {
      case 4:
        say(line, encode(some_message(source)), now, said_bytes);
        break;
      case 5:
        line.send(some_message(source));
        ++sent;
        break;
      case 6:
        line.begin(now);
        line.greet();
        break;
      case 7:
        if (line.greeting()) (void)line.resume();
        break;
      default:
        say(line, text_of(source.bytes(source.take<uint16_t>())), now, said_bytes);
    }
    // At least four bytes of length, kind and number.
    while (line.next()) HEAPTAP_CHECK(++arrived <= said_bytes / 6);
    HEAPTAP_CHECK(line.confirmed() <= sent && line.sent() == sent);
    for (int i = 0; i < 3 && line.has_outgoing(now); ++i) (void)line.take_outgoing(100, now);
  }
  return 0;
}
