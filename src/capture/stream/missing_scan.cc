#include "capture/stream/missing_scan.h"

#include <algorithm>
#include <array>

namespace heaptap::stream {

model::NoteKind kind_of_missing_traced_scan(std::span<const model::Note> notes) {
  using enum model::NoteKind;
  constexpr std::array kTracerLeft{kTracerDetached, kTracerEnded,       kTracerOutOfTime, kTracerBrokeOff,
                                   kHandedOver,     kTracedPageMissing, kHandedToMaker};
  const bool has_left = std::ranges::any_of(
      notes, [&](const model::Note& note) { return std::ranges::find(kTracerLeft, note.kind) != kTracerLeft.end(); });
  return has_left ? kNoScanTracerLeft : kNoTracedScanAtEnd;
}

}  // namespace heaptap::stream
