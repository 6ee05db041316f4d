// Provider of files by build-id alone. Where one is used, no file is opened by path.
#pragma once
#include <string>
#include <vector>

#include "common/base/unique_fd.h"

namespace heaptap::symbols {

class FileProvider {
 public:
  FileProvider() = default;
  FileProvider(const FileProvider&) = delete;
  FileProvider& operator=(const FileProvider&) = delete;
  virtual ~FileProvider() = default;
  // All its files with this build-id (bytes), open for reading: the object, its debug file, a file that others refer to.
  virtual std::vector<base::UniqueFd> files_of(const std::string& build_id) = 0;
};

}  // namespace heaptap::symbols
