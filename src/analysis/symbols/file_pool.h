// Files that resolvers opened, for the next resolver with the same options: those of a run's processes are mostly the same. A resolver
// has them to itself, so two at a time open a file twice.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

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

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<OpenFiles>> idle_;
};

}  // namespace heaptap::symbols
