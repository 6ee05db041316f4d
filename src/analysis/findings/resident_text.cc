#include "analysis/findings/resident_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/base/units.h"

namespace heaptap::findings {

std::string resident_parts(const report::Resident& resident) {
  if (!resident.kinds) return "";
  const report::ResidentKinds& kinds = *resident.kinds;
  const uint64_t log_bytes = std::min(resident.log_bytes.value_or(0), kinds.shared_bytes);
  std::string text;
  const auto add = [&text](uint64_t bytes, const char* before, const char* what) {
    if (bytes != 0) text += fmt::format("{}{}{} {}", text.empty() ? "" : ", ", before, base::format_bytes(bytes), what);
  };
  add(kinds.anonymous_bytes, "", "anonymous");
  add(kinds.file_bytes, "", "of files");
  add(kinds.shared_bytes - log_bytes, "", "shared");
  add(log_bytes, "about ", "heaptap's log");
  add(resident.swapped_bytes.value_or(0), "besides ", "swapped out");
  return text;
}

std::string resident_line(const report::Totals& totals) {
  constexpr uint64_t kLeastBytes = uint64_t{8} << 20;
  constexpr uint64_t kLeastTimes = 2;
  if (!totals.resident || !totals.live_bytes.is_known()) return "";
  const report::Resident& resident = *totals.resident;
  // What the program maps itself is no surprise, as far as it is told apart from reserved addresses and files.
  const uint64_t mapped_bytes =
      totals.mapped.memory.live_bytes + totals.mapped.of(model::MappedKind::kUnknown).live_bytes;
  const uint64_t live_bytes = totals.live_bytes.counted() + mapped_bytes;
  if (resident.own_bytes() <= kLeastBytes || resident.own_bytes() / kLeastTimes <= live_bytes) return "";
  const std::string parts = resident_parts(resident);
  return fmt::format("{} resident, {} live{}{}{}", base::format_bytes(resident.bytes), base::format_bytes(live_bytes),
                     mapped_bytes != 0 ? " or mapped" : "", parts.empty() ? "" : ": ", parts);
}

}  // namespace heaptap::findings
