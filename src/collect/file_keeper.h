// Who keeps files of modules that names will need and that may soon be gone: their places are not where the process had them.
#pragma once
#include "base/unique_fd.h"
#include "model/tables.h"

namespace heaptap::collect {

class FileKeeper {
 public:
  FileKeeper() = default;
  FileKeeper(const FileKeeper&) = delete;
  FileKeeper& operator=(const FileKeeper&) = delete;
  virtual ~FileKeeper() = default;

  // Who looks for the module's file later won't find it, and it would be kept.
  virtual bool lacks(const model::Module& module) = 0;
  // The module's file, whatever it takes to read it: doesn't wait for that.
  virtual void keep(const model::Module& module, base::UniqueFd file) = 0;
};

}  // namespace heaptap::collect
