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
using message::Field;
using message::Fields;
using message::Kind;
using Clock = std::chrono::steady_clock;

constexpr size_t kMaxIds = 1024;
// Others wait meanwhile. Who asked for more asks again for the rest.
constexpr std::chrono::milliseconds kMaxTime{200};

base::Result<std::string> build_id_in(const Fields& request) {
  const auto id = request.text(Field::kBuildId);
  if (!model::is_build_id(id.value_or(""))) return fail_as(ErrorKind::kUsage, "missing build-id");
  return std::string(*id);
}

}  // namespace

base::Result<Fields> Answers::answer(const message::Message& request) {
  switch (request.kind.as<Kind>()) {
    case Kind::kSymbolLevels:
      return levels(request.fields);
    case Kind::kFramesAt:
      return frames(request.fields);
    case Kind::kVariableAt:
      return variable(request.fields);
    case Kind::kRowsOf:
      return rows(request.fields);
    default:
      return fail_as(ErrorKind::kUsage, "a symbol server doesn't support requests of kind {}", request.kind.value);
  }
}

symbols::ModuleNames& Answers::names_of(const std::string& build_id) {
  const auto known = std::ranges::find(open_, build_id, [](const auto& each) { return each.first; });
  if (known != open_.end()) {
    open_.splice(open_.begin(), open_, known);
    // Where there was nothing, there may be something now.
    if (open_.front().second.level() != symbols::SymbolLevel::kNothing) return open_.front().second;
    open_.pop_front();
  }
  if (open_.size() == kMaxOpen) open_.pop_back();
  open_.emplace_front(std::piecewise_construct, std::forward_as_tuple(build_id),
                      std::forward_as_tuple(files_, build_id));
  return open_.front().second;
}

base::Result<Fields> Answers::levels(const Fields& request) {
  const std::vector<std::string_view> ids = request.texts(Field::kBuildId);
  if (ids.empty() || ids.size() > kMaxIds) return fail_as(ErrorKind::kUsage, "no build-ids, or too many");
  Fields answer;
  const Clock::time_point until = Clock::now() + kMaxTime;
  for (const std::string_view id : ids) {
    if (!model::is_build_id(id)) return fail_as(ErrorKind::kUsage, "invalid build-id");
    Fields entry;
    entry.add(Field::kLevel, static_cast<uint64_t>(names_of(std::string(id)).level()));
    answer.add(Field::kEntry, entry);
    if (Clock::now() >= until) break;
  }
  return answer;
}

base::Result<Fields> Answers::frames(const Fields& request) {
  const auto id = build_id_in(request);
  if (!id) return std::unexpected(id.error());
  const auto addresses = read_addresses(request.text(Field::kAddresses).value_or(""));
  if (!addresses) return fail_as(ErrorKind::kUsage, "the addresses are damaged, or too many");
  symbols::ModuleNames& names = names_of(*id);
  Fields answer;
  if (names.level() == symbols::SymbolLevel::kNothing) return answer;
  FrameWriter frames(kMaxAnswerBytes);
  const Clock::time_point until = Clock::now() + kMaxTime;
  for (const uint64_t address : *addresses) {
    if (!frames.add(names.frames_at(address)) || Clock::now() >= until) break;
  }
  answer.add(Field::kFrames, frames.bytes());
  return answer;
}

base::Result<Fields> Answers::variable(const Fields& request) {
  const auto id = build_id_in(request);
  if (!id) return std::unexpected(id.error());
  const auto address = request.number(Field::kAddress);
  if (!address) return fail_as(ErrorKind::kUsage, "missing address");
  Fields answer;
  const auto found = names_of(*id).variable_at(*address, request.number_or_0(Field::kIsThreadLocal) != 0);
  if (!found) return answer;
  answer.add(Field::kName, found->name);
  answer.add(Field::kFile, found->file);
  answer.add(Field::kLine, found->line);
  answer.add(Field::kBegin, found->begin);
  answer.add(Field::kSizeBytes, found->size_bytes);
  return answer;
}

base::Result<Fields> Answers::rows(const Fields& request) {
  const auto id = build_id_in(request);
  if (!id) return std::unexpected(id.error());
  const auto wanted = request.number(Field::kAddress);
  const bool is_known =
      rows_.build_id == *id && rows_.has_wanted == wanted.has_value() && rows_.wanted == wanted.value_or(0);
  if (!is_known || rows_.bytes.empty()) {
    rows_ = {.build_id = *id, .wanted = wanted.value_or(0), .has_wanted = wanted.has_value(), .table = {}, .bytes = {}};
    if (const auto frames = symbols::find_frame_bytes(files_, *id)) rows_.table = rows_of(*frames, wanted);
    const std::vector<uint8_t> bytes = model::encode(rows_.table);
    rows_.bytes.assign(bytes.begin(), bytes.end());
  }
  Fields answer;
  // A single address, where the whole module isn't asked for.
  if (wanted) answer.add(Field::kRow, rows_.table.row_at(*wanted));
  const auto begins = request.number(Field::kBegins);
  if (!begins || rows_.table.empty() || *begins >= rows_.bytes.size()) return answer;
  const auto at = static_cast<size_t>(*begins);
  const std::string_view piece = std::string_view(rows_.bytes).substr(at, kMaxAnswerBytes / 2);
  answer.add(Field::kRows, piece);
  answer.add(Field::kMore, at + piece.size() < rows_.bytes.size());
  return answer;
}

}  // namespace heaptap::symbol_server
