#include "capture/uplink/row_store.h"

#include <utility>

#include "common/line/line_messages.h"
#include "common/line/message_fields.h"

namespace heaptap::uplink {
namespace {

constexpr size_t kMaxAsked = 512;
constexpr size_t kMaxRowBytes = size_t{16} << 20;

}  // namespace

void RowStore::begin_with(KeptRows known, RowKeeper keeper) {
  kept_ = std::move(known);
  keeper_ = std::move(keeper);
}

void RowStore::want(line::ReliableLine& line, const std::string& build_id, std::string_view path,
                    std::optional<uint64_t> address) {
  if (build_id.empty()) return;
  const bool is_known = kept_.use(build_id) != nullptr;
  const auto known = asked_.find(build_id);
  if (known == asked_.end() && asked_.size() == kMaxAsked) return;
  Asked& asked = known != asked_.end() ? known->second : asked_[build_id];
  // With an address the host searches further, so a request without one that found nothing is repeated with one.
  const bool asks_more = address && !asked.had_address;
  if (is_known || (known != asked_.end() && !asks_more)) return;
  asked.had_address = address.has_value();
  ++asked.answers_due;
  line.send(line::message_of(line::RowRequest{.build_id = build_id, .path = std::string(path), .address = address}));
}

void RowStore::take(const message::Fields& fields) {
  const line::RowsPiece piece = line::decode_rows_piece(fields);
  const std::string& build_id = piece.build_id;
  const auto asked = asked_.find(build_id);
  if (asked == asked_.end() || asked->second.answers_due == 0) return;
  std::string& bytes = asked->second.bytes;
  bytes += piece.rows;
  const bool is_too_much = bytes.size() > kMaxRowBytes;
  if (!is_too_much && piece.more) return;
  --asked->second.answers_due;
  auto rows = is_too_much || bytes.empty() ? std::nullopt : model::decode_rows(line::bytes_of(bytes));
  bytes = {};
  if (!rows || rows->empty()) return;
  if (keeper_) keeper_(build_id, *rows);
  kept_.keep(build_id, *std::move(rows));
}

bool RowStore::is_answered(const std::string& build_id) const {
  if (find(build_id) != nullptr) return true;
  const auto asked = asked_.find(build_id);
  return asked != asked_.end() && asked->second.answers_due == 0;
}

void RowStore::begin_session() { asked_.clear(); }

}  // namespace heaptap::uplink
