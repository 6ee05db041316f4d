#include "imports/damage.h"

#include <fmt/format.h>

namespace heaptap::imports {

std::string damage_text(const TextFile& file, Fault fault) {
  const uint64_t line = file.line_number();
  if (fault == Fault::kTable) return fmt::format("line {} can't be understood: what is behind it was not read", line);
  if (fault == Fault::kTooLarge)
    return fmt::format("the file names more than heaptap keeps of one: what is behind line {} was not read", line);
  if (fault == Fault::kCut) return fmt::format("the file is cut off behind line {}", line);
  switch (file.ending()) {
    case TextFile::Ending::kWhole:
      return {};
    case TextFile::Ending::kCut:
      return fmt::format("the file is cut off behind line {}", line);
    case TextFile::Ending::kDamaged:
      return fmt::format("the file is damaged: it can't be decompressed behind line {}", line);
    case TextFile::Ending::kLongLine:
      return fmt::format("the file is damaged: line {} has no end", line + 1);
    case TextFile::Ending::kUnreadable:
      break;
  }
  return fmt::format("the file could not be read behind line {}", line);
}

}  // namespace heaptap::imports
