// What a host asks to record: it is refused, or it makes sense, and means the same when it is said again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/check.h"
#include "common/line/record_order.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heaptap;
  const auto fields = message::Fields::read({reinterpret_cast<const char*>(data), size});
  if (!fields) return 0;
  const auto order = line::decode_order(*fields);
  if (!order) return 0;
  HEAPTAP_CHECK(!order->command.empty() || !order->processes.empty());
  HEAPTAP_CHECK(order->report_signal >= 0 && order->report_signal <= 64);
  for (const pid_t process : order->processes) HEAPTAP_CHECK(process > 0);
  const message::Fields said = encode(*order);
  const auto again = line::decode_order(said);
  HEAPTAP_CHECK(again && encode(*again).bytes() == said.bytes());
  return 0;
}
