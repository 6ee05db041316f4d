#include "analysis/symbols/open_files.h"

#include "analysis/symbols/file_pool.h"

namespace heaptap::symbols {

ModuleFile& OpenFiles::open(const std::string& path, const std::string& build_id) {
  Opened& opened = files_[{path, build_id}];
  if (opened.file == nullptr) opened.file = ModuleFile::open(search_, path, build_id);
  opened.used_by = user_;
  return *opened.file;
}

void OpenFiles::pass_on() {
  ++user_;
  std::erase_if(files_, [this](const auto& each) { return each.second.used_by + kUnusedFor < user_; });
}

FilePool::FilePool() = default;
FilePool::~FilePool() = default;

std::unique_ptr<OpenFiles> FilePool::take(const ResolverOptions& options) {
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<OpenFiles> files = std::move(idle_.back());
      idle_.pop_back();
      return files;
    }
  }
  return std::make_unique<OpenFiles>(options);
}

void FilePool::give_back(std::unique_ptr<OpenFiles> files) {
  files->pass_on();
  const std::scoped_lock lock(mutex_);
  idle_.push_back(std::move(files));
}

}  // namespace heaptap::symbols
