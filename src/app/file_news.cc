#include "app/file_news.h"

#include <fmt/format.h>

#include "base/safe_text.h"

namespace heaptap::app {

std::string text_of(const base::SilentFile& file, base::ServedFiles::Stage stage) {
  const std::string path = base::safe_text(file.path);
  const std::string type = file.type.empty() ? "one that isn't mounted here" : base::safe_text(file.type);
  if (stage == base::ServedFiles::Stage::kWaits)
    return fmt::format("heaptap: it waits for {}, which its file system ({}) doesn't bring\n", path, type);
  return fmt::format(
      "heaptap: {} is given up: its file system ({}) doesn't answer, and isn't asked any more; names may be missing\n",
      path, type);
}

}  // namespace heaptap::app
