// Protocol between a symbol server and its clients: its numbers and its messages, written and read. Addresses, frames and
// rows within them are encoded by name_bytes.h and common/model/row_table.h. Described in docs/wire.md. Received
// messages are not trusted: what is missing or impossible is 0, empty or unknown.
//
// A std::string_view of a read message lies in its fields.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/symbols/resolver.h"
#include "common/message/message.h"

namespace heaptap::symbol_server {

// Besides those of all protocols (message::CommonKind).
enum class Kind : uint8_t {
  kSymbolLevels = 110,
  kFramesAt = 111,
  kVariableAt = 112,
  kRowsOf = 113,
};

enum class Field : uint8_t {
  kEntry = 6,  // fields of an entry of a list, one each
  kName = 66,
  kMore = 92,
  kBuildId = 124,  // its bytes
  kLevel = 131,
  kAddresses = 132,
  kFrames = 133,
  kAddress = 134,  // link-time
  kIsThreadLocal = 135,
  kFile = 136,
  kLine = 137,
  kBegin = 138,
  kSizeBytes = 139,
  kRows = 140,
  kRow = 141,
  kBegins = 142,
};

struct LevelsRequest {
  std::vector<std::string> build_ids = {};
};

// Of the first of them, in order.
struct LevelsAnswer {
  std::vector<uint64_t> levels = {};  // symbols::SymbolLevel; UINT64_MAX: damaged
};

struct FramesRequest {
  std::string build_id = {};
  std::string addresses = {};  // write_addresses()
};

struct FramesAnswer {
  std::optional<std::string> frames = {};  // FrameWriter: of the first of the addresses; none: nothing is known
};

struct VariableRequest {
  std::string build_id = {};
  std::optional<uint64_t> address = {};
  bool is_thread_local = false;
};

struct RowsRequest {
  std::string build_id = {};
  std::optional<uint64_t> address = {};
  std::optional<uint64_t> begins = {};  // offset of the rows; none: only the address's row
};

struct RowsAnswer {
  std::optional<uint64_t> row = {};           // the address's
  std::optional<std::string_view> rows = {};  // of the whole module, from the offset on
  bool more = false;
};

message::Fields encode(const LevelsRequest& request);
message::Fields encode(const LevelsAnswer& answer);
message::Fields encode(const FramesRequest& request);
message::Fields encode(const FramesAnswer& answer);
message::Fields encode(const VariableRequest& request);
message::Fields encode(const std::optional<symbols::Variable>& answer);
message::Fields encode(const RowsRequest& request);
message::Fields encode(const RowsAnswer& answer);

LevelsRequest decode_levels_request(const message::Fields& fields);
LevelsAnswer decode_levels_answer(const message::Fields& fields);
FramesRequest decode_frames_request(const message::Fields& fields);
FramesAnswer decode_frames_answer(const message::Fields& fields);
VariableRequest decode_variable_request(const message::Fields& fields);
std::optional<symbols::Variable> decode_variable_answer(const message::Fields& fields);
RowsRequest decode_rows_request(const message::Fields& fields);
RowsAnswer decode_rows_answer(const message::Fields& fields);

}  // namespace heaptap::symbol_server
