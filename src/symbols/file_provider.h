// Where files come from that are known by their build-ids alone, and not by paths: no other file is opened then.
#pragma once
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace heaptap::symbols {

class FileProvider {
 public:
  FileProvider() = default;
  FileProvider(const FileProvider&) = delete;
  FileProvider& operator=(const FileProvider&) = delete;
  virtual ~FileProvider() = default;
  // All that it has of this build-id (bytes), open for reading: the object, its debug file, one that others refer to.
  virtual std::vector<base::UniqueFd> files_of(const std::string& build_id) = 0;
};

}  // namespace heaptap::symbols
