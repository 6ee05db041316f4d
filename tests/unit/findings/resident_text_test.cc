#include "analysis/findings/resident_text.h"

#include <gtest/gtest.h>

namespace heaptap::findings {
namespace {

constexpr uint64_t kMib = uint64_t{1} << 20;

report::Totals totals_of(uint64_t anonymous_mib, uint64_t live_bytes) {
  report::Totals totals;
  totals.live_bytes = live_bytes;
  totals.resident = {.bytes = (anonymous_mib + 5) * kMib,
                     .kinds = report::ResidentKinds{anonymous_mib * kMib, 2 * kMib, 3 * kMib},
                     .log_bytes = 3 * kMib};
  return totals;
}

TEST(ResidentText, PartsThatAreNothingAreLeftOut) {
  report::Totals totals = totals_of(40, 0);
  EXPECT_EQ(resident_parts(*totals.resident), "40.0 MiB anonymous, 2.0 MiB of files, about 3.0 MiB heaptap's log");
  totals.resident->log_bytes = kMib;
  totals.resident->swapped_bytes = kMib;
  EXPECT_EQ(
      resident_parts(*totals.resident),
      "40.0 MiB anonymous, 2.0 MiB of files, 2.0 MiB shared, about 1.0 MiB heaptap's log, besides 1.0 MiB swapped "
      "out");
  totals.resident->kinds.reset();
  EXPECT_EQ(resident_parts(*totals.resident), "");
}

TEST(ResidentText, ALineIsForWhatLiveMemoryDoesNotExplain) {
  EXPECT_EQ(resident_line(totals_of(40, kMib)),
            "45.0 MiB resident, 1.0 MiB live: 40.0 MiB anonymous, 2.0 MiB of files, about 3.0 MiB heaptap's log");
  EXPECT_EQ(resident_line(totals_of(6, kMib)), "");  // 8 MiB without the log
  EXPECT_NE(resident_line(totals_of(7, kMib)), "");
  EXPECT_EQ(resident_line(totals_of(40, 21 * kMib)), "");
  EXPECT_NE(resident_line(totals_of(40, 21 * kMib - 1)), "");
}

TEST(ResidentText, MappedMemoryExplainsItToo) {
  report::Totals totals = totals_of(40, kMib);
  totals.mapped.memory.live_bytes = 20 * kMib;
  EXPECT_EQ(resident_line(totals), "");
  totals.mapped.memory.live_bytes = kMib;
  EXPECT_TRUE(resident_line(totals).starts_with("45.0 MiB resident, 2.0 MiB live or mapped: 40.0 MiB anonymous"));
}

TEST(ResidentText, WhatIsUnknownHasNoLine) {
  report::Totals totals = totals_of(40, 0);
  totals.live_bytes.set_unknown();
  EXPECT_EQ(resident_line(totals), "");
  EXPECT_EQ(resident_line({}), "");
}

}  // namespace
}  // namespace heaptap::findings
