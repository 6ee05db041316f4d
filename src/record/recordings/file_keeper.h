// Keeper of module files that are needed for symbols and may soon be deleted: stores them elsewhere than in the process's paths.
#pragma once
#include "common/base/unique_fd.h"
#include "common/model/tables.h"

namespace heaptap::recordings {

class FileKeeper {
 public:
  FileKeeper() = default;
  FileKeeper(const FileKeeper&) = delete;
  FileKeeper& operator=(const FileKeeper&) = delete;
  virtual ~FileKeeper() = default;

  // Whether the module's file won't be found later and should be kept.
  virtual bool lacks(const model::Module& module) = 0;
  // Whether the file of a module that didn't lack one is gone since: deleted, or replaced by an upgrade.
  virtual bool has_lost(const model::Module& module) = 0;
  // Keeps the module's file; doesn't wait until it is read.
  virtual void keep(const model::Module& module, base::UniqueFd file) = 0;
};

}  // namespace heaptap::recordings
