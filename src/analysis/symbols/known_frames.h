// Frames of addresses in files, looked up by one resolver for all resolvers of a run: most of its processes execute the same code. Any
// thread may ask. Private to symbols/.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/model/frame.h"

namespace heaptap::symbols {

// Names of one address, as a file has them: without module and addresses.
struct FileFrames {
  std::vector<model::Frame> frames;
  std::string missing_part;  // see ModuleFile::missing_part
};

class KnownFrames {
 public:
  // Kept addresses in all files; further ones are looked up each time.
  static constexpr size_t kMaxAddresses = size_t{1} << 18;

  explicit KnownFrames(size_t max_addresses = kMaxAddresses) : room_(max_addresses) {}

  class OfFile {
   public:
    explicit OfFile(std::atomic<size_t>& room) : room_(room) {}
    // `look_up` is called for an address that isn't known, by one or several threads at once; all results are equal.
    template <typename LookUp>
    FileFrames at(uint64_t address, const LookUp& look_up) {
      if (const FileFrames* const known = find(address)) return *known;
      FileFrames found = look_up();
      keep(address, found);
      return found;
    }

   private:
    // Entries stay where they are, and as they are.
    const FileFrames* find(uint64_t address);
    void keep(uint64_t address, const FileFrames& found);

    std::atomic<size_t>& room_;
    std::mutex mutex_;
    std::unordered_map<uint64_t, FileFrames> known_;
  };

  // Of the file that a module's path and build-id lead to. Valid as long as this.
  OfFile& of_file(const std::string& path, const std::string& build_id);

 private:
  std::atomic<size_t> room_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<OfFile>> files_;
};

}  // namespace heaptap::symbols
