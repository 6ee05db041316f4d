// Files that resolvers opened, for the next resolver with the same options, and the names that were found in them: those of a run's
// processes are mostly the same. A resolver has its files to itself, so two at a time open a file twice; names are shared.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "analysis/symbols/known_frames.h"

namespace heaptap::symbols {

class OpenFiles;
struct ResolverOptions;

class FilePool {
 public:
  FilePool();
  ~FilePool();
  FilePool(const FilePool&) = delete;
  FilePool& operator=(const FilePool&) = delete;

  std::unique_ptr<OpenFiles> take(const ResolverOptions& options);
  void give_back(std::unique_ptr<OpenFiles> files);
  [[nodiscard]] KnownFrames& known_frames() { return known_frames_; }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<OpenFiles>> idle_;
  KnownFrames known_frames_;
};

}  // namespace heaptap::symbols
