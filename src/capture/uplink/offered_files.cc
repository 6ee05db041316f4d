#include "capture/uplink/offered_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "capture/stream/module_file.h"

namespace heaptap::uplink {
namespace {

using message::Field;
using message::Fields;
using message::Kind;

// What a host that answers nothing, or a program that maps without end, may cost this machine.
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

const base::UniqueFd* OfferedFiles::open(const Offer& offer) {
  const std::string& build_id = offer.module.build_id;
  if (const auto found = open_.find(build_id); found != open_.end()) return &found->second;
  if (open_.size() >= kMaxOpen) return nullptr;
  base::UniqueFd file = stream::open_module_file(offer.process, offer.module);
  if (!file) return nullptr;
  return &open_.emplace(build_id, std::move(file)).first->second;
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
  if (message.kind != Kind::kFileWanted && message.kind != Kind::kFileSettled) return false;
  const Fields& fields = message.fields;
  const Place place{fields.number_or_0(Field::kStream), fields.number_or_0(Field::kModule)};
  if (message.kind == Kind::kFileWanted) {
    wanted_ = Wanted{place, fields.number_or_0(Field::kOffset)};
    return true;
  }
  const auto offer = offers_.find(place);
  if (offer == offers_.end()) return true;
  const std::string build_id = offer->second.module.build_id;
  if (settled_.size() < kMaxSettled) settled_.insert(build_id);
  open_.erase(build_id);
  std::erase_if(offers_, [&build_id](const auto& other) { return other.second.module.build_id == build_id; });
  return true;
}

base::Result<> OfferedFiles::fill_in(const Wanted& wanted, Fields& answer) {
  if (is_forbidden_) return base::fail("heaptap-target was started with --no-fetch");
  const auto offer = offers_.find(wanted.place);
  if (offer == offers_.end())
    return base::fail("the target doesn't offer it: no recorded process has mapped it, or too many files are mapped");
  const base::UniqueFd* const file = open(offer->second);
  if (file == nullptr) return base::fail("its process has ended, and the file no longer exists");
  struct stat status{};
  if (fstat(file->get(), &status) != 0) return base::fail("it can't be read: {}", base::reason_of(errno));
  const auto bytes = static_cast<uint64_t>(status.st_size);
  if (wanted.offset > bytes) return base::fail("it is shorter than before");
  const auto piece_bytes = static_cast<size_t>(std::min<uint64_t>(kFilePieceBytes, bytes - wanted.offset));
  answer.add(Field::kFileBytes, bytes);
  answer.add(Field::kBuildId, offer->second.module.build_id);
  answer.add(Field::kBytes, stream::read_piece(*file, wanted.offset, piece_bytes));
  return {};
}

std::optional<Fields> OfferedFiles::answer() {
  if (!wanted_) return std::nullopt;
  const Wanted wanted = *std::exchange(wanted_, std::nullopt);
  Fields answer;
  answer.add(Field::kStream, wanted.place.first);
  answer.add(Field::kModule, wanted.place.second);
  answer.add(Field::kOffset, wanted.offset);
  if (const auto filled = fill_in(wanted, answer); !filled) answer.add(Field::kText, filled.error().message);
  return answer;
}

}  // namespace heaptap::uplink
