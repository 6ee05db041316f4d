#include "analysis/symbol_server/answers.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "analysis/symbol_server/name_bytes.h"
#include "analysis/symbol_server/rows.h"
#include "analysis/symbols/frame_bytes.h"
#include "common/model/file_identity.h"

namespace heaptap::symbol_server {
namespace {

using base::ErrorKind;
using base::fail_as;
using message::Fields;
using Clock = std::chrono::steady_clock;

constexpr size_t kMaxIds = 1024;
// Others wait meanwhile. A client that needs more requests the rest again.
constexpr std::chrono::milliseconds kMaxTime{200};

base::Result<> check_build_id(std::string_view id) {
  if (model::is_build_id(id)) return {};
  return fail_as(ErrorKind::kUsage, "missing build-id");
}

}  // namespace

base::Result<Fields> Answers::answer(const message::Message& request) {
  switch (request.kind.as<Kind>()) {
    case Kind::kSymbolLevels:
      return levels(decode_levels_request(request.fields));
    case Kind::kFramesAt:
      return frames(decode_frames_request(request.fields));
    case Kind::kVariableAt:
      return variable(decode_variable_request(request.fields));
    case Kind::kRowsOf:
      return rows(decode_rows_request(request.fields));
    default:
      return fail_as(ErrorKind::kUsage, "a symbol server doesn't support requests of kind {}", request.kind.value);
  }
}

symbols::ModuleNames& Answers::names_of(const std::string& build_id) {
  const auto known = std::ranges::find(open_, build_id, [](const auto& each) { return each.first; });
  if (known != open_.end()) {
    open_.splice(open_.begin(), open_, known);
    // Missing files may have been added since.
    if (open_.front().second.level() != symbols::SymbolLevel::kNothing) return open_.front().second;
    open_.pop_front();
  }
  if (open_.size() == kMaxOpen) open_.pop_back();
  open_.emplace_front(std::piecewise_construct, std::forward_as_tuple(build_id),
                      std::forward_as_tuple(files_, build_id));
  return open_.front().second;
}

base::Result<Fields> Answers::levels(const LevelsRequest& request) {
  const std::vector<std::string>& ids = request.build_ids;
  if (ids.empty() || ids.size() > kMaxIds) return fail_as(ErrorKind::kUsage, "no build-ids, or too many");
  LevelsAnswer answer;
  const Clock::time_point until = Clock::now() + kMaxTime;
  for (const std::string& id : ids) {
    if (!model::is_build_id(id)) return fail_as(ErrorKind::kUsage, "invalid build-id");
    answer.levels.push_back(static_cast<uint64_t>(names_of(id).level()));
    if (Clock::now() >= until) break;
  }
  return encode(answer);
}

base::Result<Fields> Answers::frames(const FramesRequest& request) {
  HEAPTAP_TRY(check_build_id(request.build_id));
  const auto addresses = read_addresses(request.addresses);
  if (!addresses) return fail_as(ErrorKind::kUsage, "the addresses are damaged, or too many");
  symbols::ModuleNames& names = names_of(request.build_id);
  if (names.level() == symbols::SymbolLevel::kNothing) return encode(FramesAnswer{});
  FrameWriter frames(kMaxAnswerBytes);
  const Clock::time_point until = Clock::now() + kMaxTime;
  for (const uint64_t address : *addresses) {
    if (!frames.add(names.frames_at(address)) || Clock::now() >= until) break;
  }
  return encode(FramesAnswer{.frames = frames.bytes()});
}

base::Result<Fields> Answers::variable(const VariableRequest& request) {
  HEAPTAP_TRY(check_build_id(request.build_id));
  if (!request.address) return fail_as(ErrorKind::kUsage, "missing address");
  return encode(names_of(request.build_id).variable_at(*request.address, request.is_thread_local));
}

base::Result<Fields> Answers::rows(const RowsRequest& request) {
  HEAPTAP_TRY(check_build_id(request.build_id));
  const std::string& id = request.build_id;
  const std::optional<uint64_t> wanted = request.address;
  const bool is_known =
      rows_.build_id == id && rows_.has_wanted == wanted.has_value() && rows_.wanted == wanted.value_or(0);
  if (!is_known || rows_.bytes.empty()) {
    rows_ = {.build_id = id, .wanted = wanted.value_or(0), .has_wanted = wanted.has_value(), .table = {}, .bytes = {}};
    if (const auto frames = symbols::find_frame_bytes(files_, id)) rows_.table = rows_of(*frames, wanted);
    const std::vector<uint8_t> bytes = model::encode(rows_.table);
    rows_.bytes.assign(bytes.begin(), bytes.end());
  }
  RowsAnswer answer;
  // A single address, where the whole module isn't asked for.
  if (wanted) answer.row = rows_.table.row_at(*wanted);
  if (request.begins && !rows_.table.empty() && *request.begins < rows_.bytes.size()) {
    const auto at = static_cast<size_t>(*request.begins);
    answer.rows = std::string_view(rows_.bytes).substr(at, kMaxAnswerBytes / 2);
    answer.more = at + answer.rows->size() < rows_.bytes.size();
  }
  return encode(answer);
}

}  // namespace heaptap::symbol_server
