#include "analysis/findings/resident_text.h"

#include <gtest/gtest.h>

#include <string>

#include "common/base/units.h"

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

report::Totals counted(uint64_t live_bytes, uint64_t free_bytes) {
  report::Totals totals = totals_of(40, live_bytes);
  totals.resident_parts = report::ResidentParts{.bytes = live_bytes + free_bytes + kMib + kMib / 2,
                                                .live_bytes = live_bytes,
                                                .free_bytes = free_bytes,
                                                .file_bytes = kMib,
                                                .heaptap_bytes = kMib / 2};
  return totals;
}

TEST(ResidentText, WhereItIsCountedByPageItsPartsAreTold) {
  EXPECT_EQ(resident_line(counted(kMib, 20 * kMib)),
            "22.5 MiB resident: 1.0 live, 20.0 free inside the allocator, 1.0 files, 0.5 heaptap");
  EXPECT_EQ(resident_line(counted(kMib / 100, 20 * kMib)),
            "21.5 MiB resident: 0.0 live, 20.0 free inside the allocator, 1.0 files, 0.5 heaptap");
  EXPECT_EQ(resident_line(counted(kMib, 6 * kMib)), "");  // 8 MiB without heaptap's
  EXPECT_EQ(resident_line(counted(11 * kMib, 10 * kMib)), "");
  report::Totals totals = counted(kMib, 20 * kMib);
  totals.resident_parts->at_end = false;  // another moment than the line's
  EXPECT_TRUE(resident_line(totals).starts_with("45.0 MiB resident, 1.0 MiB live: "));
}

TEST(ResidentText, WhatNoRecordedFunctionMappedIsExplainedIfItIsMuch) {
  report::Totals totals = counted(kMib, 20 * kMib);
  totals.resident_parts->other_bytes = 30 * kMib;
  totals.resident_parts->bytes += 30 * kMib;
  EXPECT_TRUE(resident_line(totals).ends_with("0.5 heaptap, 30.0 other (by brk, or system calls of its own)"));
  totals.resident_parts->knows_all_blocks = false;
  EXPECT_TRUE(resident_line(totals).ends_with(", or from before the recording)"));
  totals.resident_parts->bytes -= 28 * kMib;
  totals.resident_parts->other_bytes = 2 * kMib;
  EXPECT_TRUE(resident_line(totals).ends_with(", 2.0 other")) << resident_line(totals);
}

TEST(ResidentText, TheCauseOfFreeMemoryIsToldWhereThatLeads) {
  report::Report report;
  report.totals = counted(kMib, 20 * kMib);
  EXPECT_TRUE(free_memory_leads(report.totals));
  EXPECT_FALSE(free_memory_of(report)) << "unknown";
  report::Fragmentation& found = report.fragmentation.emplace();
  found.unused_bytes = 4 * kMib;
  EXPECT_FALSE(free_memory_of(report)) << "not a quarter of it";
  found.stacks.push_back(
      {.stack_id = 3, .function = "malloc", .frames = {}, .live = {500, kMib}, .kept_bytes = 16 * kMib});
  ASSERT_TRUE(free_memory_of(report));
  EXPECT_EQ(free_memory_of(report)->text, "16.0 MiB of it kept resident by 500 blocks");
  EXPECT_EQ(free_memory_of(report)->stack, found.stacks.data());
  found.unused_bytes = 19 * kMib;
  ASSERT_TRUE(free_memory_of(report));
  EXPECT_EQ(free_memory_of(report)->text, "19.0 MiB of it in whole pages");
  EXPECT_EQ(free_memory_of(report)->stack, nullptr);
}

TEST(ResidentText, FreeMemoryLeadsIfItIsHalfAndAllBlocksAreKnown) {
  report::Totals totals = counted(8 * kMib, 10 * kMib);
  EXPECT_TRUE(free_memory_leads(totals));
  totals.resident_parts->knows_all_blocks = false;
  EXPECT_FALSE(free_memory_leads(totals));
  totals = counted(kMib, 20 * kMib);
  totals.resident_parts->bytes += 30 * kMib;  // of files
  EXPECT_FALSE(free_memory_leads(totals));
  EXPECT_FALSE(free_memory_leads(counted(11 * kMib, 10 * kMib)));
}

TEST(ResidentText, RoundedPartsAddUpToTheWhole) {
  constexpr uint64_t kHundredth = kMib / 100;
  report::ResidentParts parts{.bytes = kMib + 32 * kHundredth,
                              .live_bytes = kMib + 4 * kHundredth,
                              .free_bytes = 14 * kHundredth,
                              .mapped_bytes = 2 * kHundredth,
                              .global_bytes = 2 * kHundredth,
                              .stack_bytes = 2 * kHundredth,
                              .file_bytes = 4 * kHundredth,
                              .other_bytes = 4 * kHundredth};
  EXPECT_EQ(resident_parts(parts), "1.1 live, 0.1 free inside the allocator, 0.1 other");
  parts.knows_all_blocks = false;
  EXPECT_NE(resident_parts(parts).find("or in blocks that weren't recorded"), std::string::npos);
  EXPECT_EQ(resident_parts(report::ResidentParts{}), "");
}

// Pages end in halves of tenths: 21.25 MiB is 21.2 MiB.
TEST(ResidentText, RoundedPartsAddUpToTheWholeAsItIsWritten) {
  for (uint64_t pages = 1; pages < 6000; ++pages) {
    const report::ResidentParts parts{.bytes = pages * 4096, .live_bytes = 4096, .file_bytes = (pages - 1) * 4096};
    uint64_t tenths = 0;
    for (const ResidentPart& part : rounded_parts(parts)) tenths += part.tenths;
    const std::string whole = base::format_bytes(parts.bytes);
    ASSERT_TRUE(whole.starts_with(std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " "))
        << whole << ", " << tenths << " tenths";
  }
}

TEST(ResidentText, WhatIsUnknownHasNoLine) {
  report::Totals totals = totals_of(40, 0);
  totals.live_bytes.set_unknown();
  EXPECT_EQ(resident_line(totals), "");
  EXPECT_EQ(resident_line({}), "");
}

}  // namespace
}  // namespace heaptap::findings
