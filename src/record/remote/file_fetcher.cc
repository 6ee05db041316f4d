#include "record/remote/file_fetcher.h"

#include <utility>

#include "capture/uplink/offered_files.h"
#include "common/base/units.h"
#include "common/model/file_identity.h"

namespace heaptap::remote {
namespace {

using message::Field;
using message::Fields;
using message::Kind;
using message::Message;

constexpr size_t kMaxBuildIds = 8192;  // more than programs have modules
constexpr size_t kMaxTold = 20;

Fields place_of(uint64_t stream, uint64_t number) {
  Fields fields;
  fields.add(Field::kStream, stream);
  fields.add(Field::kModule, number);
  return fields;
}

}  // namespace

void FileFetcher::add(uint64_t stream, uint64_t first, std::span<const model::Module> modules) {
  for (size_t i = 0; i < modules.size(); ++i) {
    const model::Module& module = modules[i];
    // Whether the file is the right one nothing else says.
    if (!model::is_build_id(module.build_id)) continue;
    if ((module.flags & wire::kModuleIsVdso) != 0 || seen_.contains(module.build_id)) continue;
    if (seen_.size() >= kMaxBuildIds) return;
    seen_.insert(module.build_id);
    if (taker_.lacks(module)) {
      wanted_.push_back({stream, first + i, module});
    } else {
      settle(stream, first + i);
    }
  }
}

void FileFetcher::settle(uint64_t stream, uint64_t number) {
  settled_.push_back({.kind = Kind::kFileSettled, .number = 0, .fields = place_of(stream, number)});
}

std::optional<Message> FileFetcher::next_message() {
  if (!settled_.empty()) {
    Message message = std::move(settled_.front());
    settled_.pop_front();
    return message;
  }
  if (wanted_.empty() || is_asked_) return std::nullopt;
  is_asked_ = true;
  Message message{
      .kind = Kind::kFileWanted, .number = 0, .fields = place_of(wanted_.front().stream, wanted_.front().number)};
  message.fields.add(Field::kOffset, done_bytes_);
  return message;
}

void FileFetcher::take(const Fields& piece) {
  if (!is_asked_) return;  // nobody asked for it
  const Wanted& wanted = wanted_.front();
  const bool is_it = piece.number(Field::kStream) == wanted.stream && piece.number(Field::kModule) == wanted.number &&
                     piece.number(Field::kOffset) == done_bytes_;
  if (!is_it) return;
  is_asked_ = false;
  if (const auto taken = take_piece(piece); !taken) fail(taken.error().message);
}

base::Result<> FileFetcher::take_piece(const Fields& piece) {
  if (const auto why = piece.text(Field::kText)) return base::fail("{}", *why);
  const std::string_view bytes = piece.text(Field::kBytes).value_or("");
  const uint64_t file_bytes = piece.number_or_0(Field::kFileBytes);
  if (!is_begun_) {
    if (piece.text(Field::kBuildId) != wanted_.front().module.build_id) {
      return base::fail("the target's file has a different build-id");
    }
    if (file_bytes > limits_.file_bytes) {
      return base::fail("its size is {}, and --fetch-limit is {}", base::format_bytes(file_bytes),
                        base::format_bytes(limits_.file_bytes));
    }
    if (received_bytes_ + file_bytes > limits_.all_bytes) {
      return base::fail("the total would exceed {}; raise --fetch-limit", base::format_bytes(limits_.all_bytes));
    }
    HEAPTAP_TRY(taker_.begin(wanted_.front().module.build_id));
    is_begun_ = true;
    file_bytes_ = file_bytes;
  }
  if (file_bytes != file_bytes_) return base::fail("its size changed during the transfer");
  if (bytes.size() > uplink::kFilePieceBytes || bytes.size() > file_bytes_ - done_bytes_) {
    return base::fail("the target sent more than requested");
  }
  if (bytes.empty()) return base::fail("it is shorter than announced");
  received_bytes_ += bytes.size();
  done_bytes_ += bytes.size();
  HEAPTAP_TRY(taker_.write(bytes));
  if (done_bytes_ < file_bytes_) return {};
  HEAPTAP_TRY(taker_.finish());
  is_begun_ = false;
  end_file();
  return {};
}

void FileFetcher::fail(std::string why) {
  ++not_fetched_count_;
  if (not_fetched_.size() < kMaxTold) not_fetched_.push_back({wanted_.front().module.path, std::move(why)});
  if (std::exchange(is_begun_, false)) taker_.drop();
  end_file();
}

void FileFetcher::end_file() {
  settle(wanted_.front().stream, wanted_.front().number);
  wanted_.pop_front();
  done_bytes_ = file_bytes_ = 0;
}

void FileFetcher::give_up(const std::string& why) {
  is_asked_ = false;
  while (!wanted_.empty()) fail(why);
}

}  // namespace heaptap::remote
