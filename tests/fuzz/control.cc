// Messages of the control protocol, as they come in pieces: what is taken for a request, an answer or news means the
// same when it is said again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/check.h"
#include "common/control/control_messages.h"
#include "common/message/common_messages.h"
#include "common/message/message.h"

namespace {

using namespace heaptap;
using message::Fields;

// Said once, it stays as it is.
template <typename Decode>
void say_again(const Fields& fields, Decode decode) {
  const Fields said = control::encode(decode(fields));
  HEAPTAP_CHECK(control::encode(decode(said)).bytes() == said.bytes());
}

void read_as_everything(const Fields& fields) {
  say_again(fields, control::decode_process_request);
  say_again(fields, control::decode_mark_request);
  say_again(fields, control::decode_depth_request);
  say_again(fields, control::decode_snapshot_request);
  say_again(fields, control::decode_kill_request);
  say_again(fields, control::decode_processes);
  say_again(fields, control::decode_figures);
  say_again(fields, control::decode_settings);
  say_again(fields, control::decode_marks);
  say_again(fields, control::decode_scanned);
  say_again(fields, control::decode_snapshot);
  if (control::decode_news(fields)) {
    say_again(fields, [](const Fields& each) { return *control::decode_news(each); });
  }
  (void)message::decode_refusal(fields);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t piece = 1 + data[0];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  message::MessageReader reader(message::kMaxRequestBytes);
  for (size_t at = 0; at < bytes.size(); at += piece) {
    reader.add(bytes.substr(at, piece));
    while (const auto message = reader.next()) {
      read_as_everything(message->fields);
      // What was read is said again in the same way.
      message::MessageReader again(message::kMaxRequestBytes * 2);
      again.add(encode(*message));
      const auto same = again.next();
      HEAPTAP_CHECK(same && same->kind == message->kind && same->number == message->number &&
                    same->fields.bytes() == message->fields.bytes());
    }
  }
  return 0;
}
