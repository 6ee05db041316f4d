// Index of the files below some directories by build-id. Scans once, and again when an unknown build-id is requested and a directory
// has changed since; rescans are rate-limited.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analysis/symbol_server/directories.h"
#include "analysis/symbols/file_provider.h"

namespace heaptap::symbol_server {

class FileIndex : public symbols::FileProvider {
 public:
  using Clock = std::chrono::steady_clock;

  // `now`: clock; replaced in tests.
  explicit FileIndex(Directories directories, std::function<Clock::time_point()> now = [] { return Clock::now(); });

  std::vector<base::UniqueFd> files_of(const std::string& build_id) override;

  [[nodiscard]] size_t file_count() const { return file_count_; }
  // The scan stopped at a limit: there are more files or directories.
  [[nodiscard]] bool is_cut_off() const { return is_cut_off_; }
  // Number of scans.
  [[nodiscard]] unsigned looks() const { return looks_; }

 private:
  struct SeenDirectory {
    FilePlace place;
    int64_t changed_s = 0;
    int64_t changed_ns = 0;
  };

  void look_through();
  void look_into(const FilePlace& place, unsigned depth);
  void take_file(FilePlace place, int file);
  [[nodiscard]] bool may_have_changed();
  [[nodiscard]] bool has_changed() const;

  Directories directories_;
  std::function<Clock::time_point()> now_;
  std::map<std::string, std::vector<FilePlace>> files_;  // by build-id
  std::vector<SeenDirectory> seen_;
  size_t file_count_ = 0;
  size_t entry_count_ = 0;
  bool is_cut_off_ = false;
  unsigned looks_ = 0;
  Clock::time_point next_look_;
};

}  // namespace heaptap::symbol_server
