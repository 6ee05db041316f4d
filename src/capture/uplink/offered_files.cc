#include "capture/uplink/offered_files.h"

namespace heaptap::uplink {
namespace {

// Limits against a host that answers nothing, and a program that maps files endlessly.
constexpr size_t kMaxOffers = 2048;
constexpr size_t kMaxOpen = 128;
constexpr size_t kMaxSettled = 4096;

}  // namespace

void OfferedFiles::end() {
  is_wanted_ = false;
  offers_.clear();
  open_.clear();
  settled_.clear();
  wanted_.reset();
}

const stream::PiecewiseFile* OfferedFiles::open(const Offer& offer) {
  const std::string& build_id = offer.module.build_id;
  if (const auto found = open_.find(build_id); found != open_.end()) return &found->second;
  if (open_.size() >= kMaxOpen) return nullptr;
  auto file = stream::PiecewiseFile::open(offer.process, offer.module);
  if (!file) return nullptr;
  return &open_.emplace(build_id, *std::move(file)).first->second;
}

void OfferedFiles::add(uint64_t stream, uint64_t first, pid_t process, std::span<const model::Module> modules) {
  if (!is_wanted_) return;
  for (size_t i = 0; i < modules.size() && offers_.size() < kMaxOffers; ++i) {
    const model::Module& module = modules[i];
    if (module.build_id.empty() || settled_.contains(module.build_id)) continue;
    const auto [place, is_new] = offers_.try_emplace({stream, first + i}, Offer{process, module});
    if (is_new) (void)open(place->second);
  }
}

bool OfferedFiles::take(const message::Message& message) {
  if (message.kind == line::Kind::kFileWanted) {
    wanted_ = line::decode_file_wanted(message.fields);
    return true;
  }
  if (message.kind != line::Kind::kFileSettled) return false;
  const line::FilePlace place = line::decode_file_settled(message.fields).place;
  const auto offer = offers_.find({place.stream, place.module});
  if (offer == offers_.end()) return true;
  const std::string build_id = offer->second.module.build_id;
  if (settled_.size() < kMaxSettled) settled_.insert(build_id);
  open_.erase(build_id);
  std::erase_if(offers_, [&build_id](const auto& other) { return other.second.module.build_id == build_id; });
  return true;
}

base::Result<> OfferedFiles::fill_in(line::FilePiece& answer) {
  if (is_forbidden_) return base::fail("heaptap-target was started with --no-fetch");
  const auto offer = offers_.find({answer.place.stream, answer.place.module});
  if (offer == offers_.end())
    return base::fail("the target doesn't offer it: no recorded process has mapped it, or too many files are mapped");
  const stream::PiecewiseFile* const file = open(offer->second);
  if (file == nullptr)
    return base::fail("its process has ended and the file no longer exists, or its file system doesn't respond");
  auto piece = file->read(answer.offset, kFilePieceBytes);
  if (!piece) return std::unexpected(piece.error());
  if (answer.offset > piece->file_bytes) return base::fail("it is shorter than before");
  answer.file_bytes = piece->file_bytes;
  answer.build_id = offer->second.module.build_id;
  answer.bytes = std::move(piece->bytes);
  return {};
}

std::optional<line::FilePiece> OfferedFiles::answer() {
  if (!wanted_) return std::nullopt;
  const line::FileWanted wanted = *std::exchange(wanted_, std::nullopt);
  line::FilePiece answer{.place = wanted.place, .offset = wanted.offset};
  if (const auto filled = fill_in(answer); !filled) answer.why_not = filled.error().message;
  return answer;
}

}  // namespace heaptap::uplink
