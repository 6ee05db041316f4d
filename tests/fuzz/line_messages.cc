// What either end of a line between two machines says: read as each message, it means the same when it is said again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/check.h"
#include "common/line/line_messages.h"
#include "common/message/message.h"

namespace {

using namespace heaptap;
using message::Fields;

// Said once, it stays as it is.
template <typename Decode>
void say_again(const Fields& fields, Decode decode) {
  const message::Message said = message_of(decode(fields));
  HEAPTAP_CHECK(message_of(decode(said.fields)).fields.bytes() == said.fields.bytes());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto fields = Fields::read({reinterpret_cast<const char*>(data), size});
  if (!fields) return 0;
  say_again(*fields, line::decode_resume);
  say_again(*fields, line::decode_received);
  say_again(*fields, line::decode_recording_begun);
  say_again(*fields, line::decode_stream_bytes);
  say_again(*fields, line::decode_code_names);
  say_again(*fields, line::decode_marked);
  say_again(*fields, line::decode_blocks_wanted);
  say_again(*fields, line::decode_blocks_piece);
  say_again(*fields, line::decode_scan_piece);
  say_again(*fields, line::decode_recording_ended);
  say_again(*fields, line::decode_not_recorded);
  say_again(*fields, line::decode_tracer_waits);
  say_again(*fields, line::decode_all_ended);
  say_again(*fields, line::decode_stream_figures);
  say_again(*fields, line::decode_file_wanted);
  say_again(*fields, line::decode_file_settled);
  say_again(*fields, line::decode_row_request);
  say_again(*fields, line::decode_rows_piece);
  if (line::decode_report_wanted(*fields)) {
    say_again(*fields, [](const Fields& each) { return *line::decode_report_wanted(each); });
  }
  if (line::decode_file_piece(*fields)) {
    say_again(*fields, [](const Fields& each) { return *line::decode_file_piece(each); });
  }
  return 0;
}
