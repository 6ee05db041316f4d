#include "record/remote/file_fetcher.h"

#include <utility>

#include "capture/uplink/offered_files.h"
#include "common/base/units.h"
#include "common/model/file_identity.h"

namespace heaptap::remote {
namespace {

using message::Message;

constexpr size_t kMaxBuildIds = 8192;  // more than programs have modules
constexpr size_t kMaxTold = 20;

}  // namespace

void FileFetcher::add(uint64_t stream, uint64_t first, std::span<const model::Module> modules) {
  for (size_t i = 0; i < modules.size(); ++i) {
    const model::Module& module = modules[i];
    // Nothing else proves that a file is the right one.
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
  settled_.push_back(line::message_of(line::FileSettled{.place = {.stream = stream, .module = number}}));
}

std::optional<Message> FileFetcher::next_message() {
  if (!settled_.empty()) {
    Message message = std::move(settled_.front());
    settled_.pop_front();
    return message;
  }
  if (wanted_.empty() || is_asked_) return std::nullopt;
  is_asked_ = true;
  const Wanted& wanted = wanted_.front();
  return line::message_of(
      line::FileWanted{.place = {.stream = wanted.stream, .module = wanted.number}, .offset = done_bytes_});
}

void FileFetcher::take(const message::Fields& fields) {
  if (!is_asked_) return;  // nobody asked for it
  const auto piece = line::decode_file_piece(fields);
  const Wanted& wanted = wanted_.front();
  const bool is_it = piece && piece->place.stream == wanted.stream && piece->place.module == wanted.number &&
                     piece->offset == done_bytes_;
  if (!is_it) return;
  is_asked_ = false;
  if (const auto taken = take_piece(*piece); !taken) fail(taken.error().message);
}

base::Result<> FileFetcher::take_piece(const line::FilePiece& piece) {
  if (piece.why_not) return base::fail("{}", *piece.why_not);
  const std::string& bytes = piece.bytes;
  const uint64_t file_bytes = piece.file_bytes;
  if (!is_begun_) {
    if (piece.build_id != wanted_.front().module.build_id) {
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
