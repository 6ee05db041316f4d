#include "app/moment.h"

#include "base/units.h"

namespace heaptap::app {

base::Result<uint64_t> moment_of(const std::string& text, const NamedMoments& named) {
  if (text == "start") return uint64_t{0};
  if (text == "end") return named.end_ns;
  const auto time = base::parse_duration(text);
  if (time) return *time;
  return base::fail_as(base::ErrorKind::kUsage,
                       "'{}' is no moment of the recording: give a time such as 250ms or 1.5s, "
                       "or one of start, end",
                       text);
}

}  // namespace heaptap::app
