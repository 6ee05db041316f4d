#include "analysis/imports/damage.h"

#include <fmt/format.h>

namespace heaptap::imports {

std::string damage_text(const TextFile& file, Fault fault) {
  const uint64_t line = file.line_number();
  if (fault == Fault::kTable) return fmt::format("line {} is malformed: the rest of the file was not read", line);
  if (fault == Fault::kTooLarge)
    return fmt::format("the file exceeds heaptap's limits: the rest, after line {}, was not read", line);
  if (fault == Fault::kCut) return fmt::format("the file is cut off after line {}", line);
  switch (file.ending()) {
    case TextFile::Ending::kWhole:
      return {};
    case TextFile::Ending::kCut:
      return fmt::format("the file is cut off after line {}", line);
    case TextFile::Ending::kDamaged:
      return fmt::format("the file is damaged: it can't be decompressed after line {}", line);
    case TextFile::Ending::kLongLine:
      return fmt::format("the file is damaged: line {} has no end", line + 1);
    case TextFile::Ending::kUnreadable:
      break;
  }
  return fmt::format("the file could not be read after line {}", line);
}

}  // namespace heaptap::imports
