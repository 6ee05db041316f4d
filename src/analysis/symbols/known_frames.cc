#include "analysis/symbols/known_frames.h"

namespace heaptap::symbols {

const FileFrames* KnownFrames::OfFile::find(uint64_t address) {
  const std::scoped_lock lock(mutex_);
  const auto found = known_.find(address);
  return found == known_.end() ? nullptr : &found->second;
}

void KnownFrames::OfFile::keep(uint64_t address, const FileFrames& found) {
  const std::scoped_lock lock(mutex_);
  size_t room = room_;
  while (room != 0 && !room_.compare_exchange_weak(room, room - 1)) continue;
  if (room == 0) return;
  if (!known_.try_emplace(address, found).second) ++room_;  // another thread was faster
}

KnownFrames::OfFile& KnownFrames::of_file(const std::string& path, const std::string& build_id) {
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<OfFile>& file = files_[{path, build_id}];
  if (file == nullptr) file = std::make_unique<OfFile>(room_);
  return *file;
}

}  // namespace heaptap::symbols
