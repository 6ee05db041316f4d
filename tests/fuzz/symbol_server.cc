// What a server of symbols and its clients say to each other, and rows for unwinding on their way: requests to a server that knows one
// file (the fuzzer's own program), answers to a client, rows of a host, and rows in a log that anybody has overwritten.
#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/symbol_server/answers.h"
#include "analysis/symbol_server/name_bytes.h"
#include "capture/uplink/row_store.h"
#include "common/arch/native.h"
#include "common/base/check.h"
#include "common/message/common_messages.h"
#include "common/message/message.h"
#include "common/model/row_table.h"
#include "common/unwind/late_row.h"
#include "common/wire/late_rows.h"

namespace {

using namespace heaptap;

class NoFiles : public symbols::FileProvider {
 public:
  std::vector<base::UniqueFd> files_of(const std::string& /*build_id*/) override { return {}; }
};

void read_as_rows(std::span<const uint8_t> bytes) {
  const auto table = model::decode_rows(bytes);
  if (!table) return;
  HEAPTAP_CHECK(table->begins.size() == table->rows.size());
  const auto again = model::decode_rows(model::encode(*table));
  HEAPTAP_CHECK(again && again->begins == table->begins && again->rows == table->rows);
  for (const uint32_t begin : table->begins) (void)table->row_at(table->base + begin);
}

void read_as_late_rows(std::span<const uint8_t> bytes) {
  using Cpu = arch::native::Unwinding;
  static auto* const log = new wire::LogHeader();
  static std::vector<uint8_t> memory(sizeof(wire::LogHeader) + 4096);
  auto* const header = reinterpret_cast<wire::LogHeader*>(memory.data());
  const size_t size = std::min<size_t>(bytes.size(), 4096);
  std::ranges::copy(bytes.first(size), memory.begin() + sizeof(wire::LogHeader));
  wire::LogLayout layout = static_cast<const wire::LogLayout&>(*log);
  layout.late_rows_offset = sizeof(wire::LogHeader);
  layout.late_rows_capacity = size;
  header->late_rows_bytes.store(static_cast<uint32_t>(size));
  const wire::LateRowsReader reader(*header, layout);
  uint64_t object = 0;
  if (size >= sizeof(object)) __builtin_memcpy(&object, bytes.data(), sizeof(object));
  const wire::LateRows rows = reader.find(object);
  for (uint64_t address = rows.base; address < rows.base + 64; ++address) {
    (void)unwind::late_row<Cpu>(rows.row_at(address * 17));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto addresses = symbol_server::read_addresses(text)) {
    HEAPTAP_CHECK(symbol_server::read_addresses(symbol_server::write_addresses(*addresses)) == addresses);
  }
  (void)symbol_server::read_frames(text);
  read_as_rows(bytes);
  read_as_late_rows(bytes);
  NoFiles files;
  symbol_server::Answers answers(files);
  message::MessageReader reader(message::kMaxRequestBytes);
  uplink::RowStore store;
  line::ReliableLine line(1 << 20);
  store.want(line, "id", "/bin/program", std::nullopt);
  reader.add(text);
  while (const auto message = reader.next()) {
    (void)answers.answer(*message);
    store.take(message->fields);
  }
  return 0;
}
