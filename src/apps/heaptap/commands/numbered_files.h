// Numbered files with a common name in a directory: NAME1.ext, NAME2.ext, …
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "apps/heaptap/commands/new_file.h"
#include "views/exports/formats.h"

namespace heaptap::app {

class NumberedFiles : public exports::NumberedOutput {
 public:
  NumberedFiles(std::string directory, std::string name, std::string extension);

  // From 1 to the last one.
  base::Result<> read_earlier(const std::function<void(std::string_view text)>& take) const override;
  // Uses the first free number, and never replaces a file.
  base::Result<> write_next(const std::function<void(const report::Write& write)>& fill) override;
  // Same with another writer: an error of `fill` is returned, and no file is left.
  base::Result<> make_next(const std::function<base::Result<>(NewFile& file)>& fill);
  // Paths of the files written by this object.
  [[nodiscard]] const std::vector<std::string>& written() const { return written_; }

 private:
  [[nodiscard]] std::string path_of(size_t number) const;
  [[nodiscard]] bool is_there(size_t number) const;

  std::string directory_;
  std::string name_;
  std::string extension_;
  size_t next_ = 1;  // lower numbers are taken
  std::vector<std::string> written_;
};

}  // namespace heaptap::app
