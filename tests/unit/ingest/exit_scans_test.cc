// Whether a scan where exit began says more than that of the end.
#include "record/ingest/exit_scans.h"

#include <gtest/gtest.h>

#include "heap_graph.h"

namespace heaptap::ingest {
namespace {

model::HeapScan scan_of(uint32_t blocks, const std::vector<test::GraphEdge>& edges,
                        const std::vector<test::GraphRoot>& roots) {
  model::HeapScan scan = test::make_scan(blocks, edges, roots);
  for (uint32_t i = 0; i < blocks; ++i) scan.blocks[i].number = i + 1;
  return scan;
}

TEST(ExitScans, ABlockThatLostItsRootIsToldByTheFirst) {
  EXPECT_TRUE(loses_holders(scan_of(1, {}, {{.to = 0}}), scan_of(1, {}, {})));
}

TEST(ExitScans, ABlockThatLostTheBlockThatHeldItIs) {
  model::HeapScan end = scan_of(1, {}, {});
  end.blocks[0].number = 2;
  EXPECT_TRUE(loses_holders(scan_of(2, {{.from = 0, .to = 1}}, {{.to = 0}}), end));
}

TEST(ExitScans, ABlockThatIsHeldByAnotherRootIsNot) {
  EXPECT_FALSE(loses_holders(scan_of(1, {}, {{.to = 0}}), scan_of(1, {}, {{.to = 0}})));
}

TEST(ExitScans, ABlockThatWasLostBeforeIsNot) { EXPECT_FALSE(loses_holders(scan_of(1, {}, {}), scan_of(1, {}, {}))); }

TEST(ExitScans, ABlockThatWasReleasedIsNot) {
  EXPECT_FALSE(loses_holders(scan_of(1, {}, {{.to = 0}}), scan_of(0, {}, {})));
}

TEST(ExitScans, ABlockOfAHandlerIsNot) {
  model::HeapScan end = scan_of(1, {}, {});
  end.blocks[0].number = 7;
  EXPECT_FALSE(loses_holders(scan_of(1, {}, {{.to = 0}}), end));
}

}  // namespace
}  // namespace heaptap::ingest
