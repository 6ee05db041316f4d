#include "analysis/report/skipped_names.h"

#include <algorithm>

namespace heaptap::report {

bool SkippedNames::match(const model::Frame& frame) const {
  return std::ranges::any_of(filters_, [&](const patterns::NameFilter& filter) {
    return !filter.empty() && !frame.function.empty() && filter.matches(frame.function);
  });
}

}  // namespace heaptap::report
