// Files of one name with a number each, in a directory: NAME1.ext, NAME2.ext, …
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "app/new_file.h"
#include "exports/formats.h"

namespace heaptap::app {

class NumberedFiles : public exports::NumberedOutput {
 public:
  NumberedFiles(std::string directory, std::string name, std::string extension);

  // From 1 up to the last one.
  base::Result<> read_earlier(const std::function<void(std::string_view text)>& take) const override;
  // At the first number that isn't there, and never in another's place.
  base::Result<> write_next(const std::function<void(const report::Write& write)>& fill) override;
  // The same, filled in another way: what `fill` fails with, this fails with, and nothing is left.
  base::Result<> make_next(const std::function<base::Result<>(NewFile& file)>& fill);
  // The paths of those that were written here.
  [[nodiscard]] const std::vector<std::string>& written() const { return written_; }

 private:
  [[nodiscard]] std::string path_of(size_t number) const;
  [[nodiscard]] bool is_there(size_t number) const;

  std::string directory_;
  std::string name_;
  std::string extension_;
  size_t next_ = 1;  // those before are there
  std::vector<std::string> written_;
};

}  // namespace heaptap::app
